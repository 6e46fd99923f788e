"""Operators from text such as ``WI,NI(ratio=0.1, direction=incoming)``, and back."""

from __future__ import annotations

from collections.abc import Iterable

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names, described
from mutiny.core.registry import JoinedRegistry
from mutiny.faults import ALL, OPERATORS
from mutiny.faults.base import Operator
from mutiny.faults.training import TRAINING_OPERATORS
from mutiny.faults.training.base import TrainingOperator

EXAMPLE, COMMAND = "WI,NI(ratio=0.1)", "mutiny operators"
NAMES = Names("operators", Operator, OPERATORS, EXAMPLE, COMMAND, takes_several=True)
FAULTS = JoinedRegistry(OPERATORS, TRAINING_OPERATORS)
BOTH = Names("operators", (Operator, TrainingOperator), FAULTS, EXAMPLE, COMMAND, takes_several=True)
EVERY = "all"

Fault = Operator | TrainingOperator


def as_operators(wanted: str | Iterable[str | Operator] | None) -> tuple[Operator, ...]:
    """Operators from codes, from text with parameters, from instances, or all built-in ones.

    >>> as_operators("WI, NI(ratio=0.1, direction=incoming)")[1].direction
    'incoming'
    >>> [operator.code for operator in as_operators(["GF", OPERATORS["WS"](ratio=0.2)])]
    ['GF', 'WS']
    """
    return tuple(kind() for kind in ALL) if wanted is None else NAMES.parse(wanted)


def as_faults(wanted: str | Iterable[str | Fault] | None) -> tuple[Fault, ...]:
    """Operators on trained models and before training; ``"all"`` means every one, also those of other packages.

    ``None`` means the built-in operators on trained models, which need no training.

    >>> [fault.code for fault in as_faults("WI, HLR")]
    ['WI', 'HLR']
    """
    if wanted is None:
        return as_operators(None)
    if wanted == EVERY:
        return tuple(kind() for kind in BOTH.kinds.values())
    if isinstance(wanted, str) and EVERY in [name.strip() for name in wanted.split(",")]:
        raise BadInput("operators", repr(wanted), "either all, alone, or operators by name")
    return BOTH.parse(wanted)


def describe(operator: Fault) -> str:
    """The shortest text from which `as_faults` makes this operator at any strength.

    >>> describe(OPERATORS["NI"](direction="incoming", factor=0.3))
    'NI(direction=incoming)'
    """
    return described(operator, operator.code, without=operator.strength)


def operators_by_label(operators: str | Iterable[str | Fault] | None) -> dict[str, Operator]:
    """Operators by label; an error for operators before training, and if one is given twice."""
    wanted = as_faults(operators)
    before = [describe(operator) for operator in wanted if not isinstance(operator, Operator)]
    if before:
        raise BadInput(
            "operators",
            ", ".join(before[:3]),
            "operators on trained models",
            'Operators before training need method="muff".',
        )
    labels = [describe(operator) for operator in wanted]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise BadInput("operators", ", ".join(twice), "each operator once", "Vary a parameter that is not searched.")
    return {label: operator for label, operator in zip(labels, wanted, strict=True) if isinstance(operator, Operator)}
