"""From text to operators: ``WI,NI(ratio=0.1, direction=incoming)``."""

from __future__ import annotations

from collections.abc import Iterable

from mutiny.operators import OPERATORS
from mutiny.operators.base import Operator
from mutiny.parsing import Names

NAMES = Names("operators", Operator, OPERATORS, "WI,NI(ratio=0.1)", "mutiny operators")


def as_operators(wanted: str | Iterable[str | Operator] | None) -> tuple[Operator, ...]:
    """Operators from codes, from text with parameters, from instances, or all of them.

    >>> as_operators("WI, NI(ratio=0.1, direction=incoming)")[1].direction
    'incoming'
    >>> [operator.code for operator in as_operators(["GF", OPERATORS["WS"](ratio=0.2)])]
    ['GF', 'WS']
    """
    return tuple(kind() for kind in OPERATORS.values()) if wanted is None else NAMES.parse(wanted)
