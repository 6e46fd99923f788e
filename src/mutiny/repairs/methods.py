"""Methods of repair by name."""

from __future__ import annotations

from mutiny.errors import BadInput
from mutiny.parsing import Names
from mutiny.repairs.base import Method
from mutiny.repairs.scale import Scale
from mutiny.repairs.search import Search
from mutiny.repairs.tune import Tune

REPAIRS: dict[str, type[Method]] = {method.code: method for method in (Search, Scale, Tune)}
NAMES = Names("methods", Method, REPAIRS, "search(generations=50)", "mutiny repair --help")


def as_repair(wanted: str | Method) -> Method:
    """A method from its name, with parameters if you like.

    >>> str(as_repair("search(generations=50)"))
    'search(generations=50)'
    """
    found = NAMES.parse(wanted) if isinstance(wanted, str) else (wanted,)
    if len(found) != 1 or not isinstance(found[0], Method):
        raise BadInput("method", repr(wanted), f"one of {', '.join(REPAIRS)}")
    method: Method = found[0]
    return method
