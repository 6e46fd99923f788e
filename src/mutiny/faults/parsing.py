"""From text to operators: ``WI,NI(ratio=0.1, direction=incoming)``."""

from __future__ import annotations

from collections.abc import Iterable

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names
from mutiny.faults import OPERATORS
from mutiny.faults.base import Operator
from mutiny.faults.training.base import TrainingOperator
from mutiny.faults.training.catalogue import TRAINING

EXAMPLE, COMMAND = "WI,NI(ratio=0.1)", "mutiny operators"
NAMES = Names("operators", Operator, OPERATORS, EXAMPLE, COMMAND)
BOTH = Names("operators", (Operator, TrainingOperator), {**OPERATORS, **TRAINING}, EXAMPLE, COMMAND)
EVERY = "all"

Fault = Operator | TrainingOperator


def as_operators(wanted: str | Iterable[str | Operator] | None) -> tuple[Operator, ...]:
    """Operators from codes, from text with parameters, from instances, or all of them.

    >>> as_operators("WI, NI(ratio=0.1, direction=incoming)")[1].direction
    'incoming'
    >>> [operator.code for operator in as_operators(["GF", OPERATORS["WS"](ratio=0.2)])]
    ['GF', 'WS']
    """
    return tuple(kind() for kind in OPERATORS.values()) if wanted is None else NAMES.parse(wanted)


def as_faults(wanted: str | Iterable[str | Fault] | None) -> tuple[Fault, ...]:
    """The same with faults that are made before training; ``"all"`` is every one of both kinds.

    Without a wish, those on trained models: they need no training.

    >>> [fault.code for fault in as_faults("WI, HLR")]
    ['WI', 'HLR']
    """
    if wanted is None:
        return as_operators(None)
    if wanted == EVERY:
        return tuple(kind() for kind in BOTH.kinds.values())
    if isinstance(wanted, str) and EVERY in [name.strip() for name in wanted.split(",")]:
        raise BadInput("operators", repr(wanted), "all alone, for it has every operator already, or some by name")
    return BOTH.parse(wanted)
