"""Repair methods by name."""

from __future__ import annotations

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.scale import Scale
from mutiny.verbs.repair.search import WeightSearch
from mutiny.verbs.repair.tune import Tune

REPAIRS: dict[str, type[RepairMethod]] = {method.code: method for method in (WeightSearch, Scale, Tune)}
NAMES = Names("methods", RepairMethod, REPAIRS, "search(generations=50)")


def as_repair(wanted: str | RepairMethod) -> RepairMethod:
    """A method from its name, with optional parameters.

    >>> str(as_repair("search(generations=50)"))
    'search(generations=50)'
    """
    parsed = NAMES.parse(wanted) if isinstance(wanted, str) else (wanted,)
    if len(parsed) != 1 or not isinstance(parsed[0], RepairMethod):
        raise BadInput("method", repr(wanted), f"one of {', '.join(REPAIRS)}")
    return parsed[0]
