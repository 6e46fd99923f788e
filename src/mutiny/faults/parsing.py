"""Operators from text such as ``WI,NI(ratio=0.1, direction=incoming)``, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

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


def as_operators(wanted: str | Iterable[str | Operator] | None, argument: str = "operators") -> tuple[Operator, ...]:
    """Operators from codes, from text with parameters, from instances, or all built-in ones.

    Args:
        wanted: Operators, one or several.
        argument: Name of the user's argument, for messages.

    >>> as_operators("WI, NI(ratio=0.1, direction=incoming)")[1].direction
    'incoming'
    >>> [operator.code for operator in as_operators(["GF", OPERATORS["WS"](ratio=0.2)])]
    ['GF', 'WS']
    """
    if wanted is None:
        return tuple(kind() for kind in ALL)
    items = wanted if isinstance(wanted, str) or not isinstance(wanted, Iterable) else list(wanted)
    try:
        return replace(NAMES, called=argument).parse(items)
    except BadInput:
        fix = "{} is an operator before training, which only assess takes, with the method muff."
        _refuse_training(_faults(items), items, argument, fix)
        raise


def as_faults(wanted: str | Iterable[str | Fault] | None) -> tuple[Fault, ...]:
    """Operators on trained models and before training; ``"all"`` means every one, also those of other packages.

    ``None`` means the built-in operators on trained models, which need no training.

    >>> [fault.code for fault in as_faults("WI, HLR")]
    ['WI', 'HLR']
    """
    if wanted is None:
        return as_operators(None)
    if wanted == EVERY:
        OPERATORS.check()  # a class that cannot be used is part of all, and leaving it out would change the result
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


def _faults(wanted: Any) -> tuple[Fault, ...]:
    """Operators of both kinds; none if the text is wrong."""
    try:
        return BOTH.parse(wanted)
    except BadInput:
        return ()


def _refuse_training(operators: Sequence[Fault], wanted: Any, argument: str, fix: str) -> None:
    """Raises `BadInput` for operators before training.

    Args:
        operators: Operators of both kinds.
        wanted: The user's argument.
        argument: Its name.
        fix: Sentence with a place for the first of these operators.
    """
    before = [describe(operator) for operator in operators if not isinstance(operator, Operator)]
    if before:
        value = wanted if isinstance(wanted, str) else ", ".join(before[:3])
        expected = "an operator on trained models" if argument == "operator" else "operators on trained models"
        raise BadInput(argument, repr(value), expected, fix.format(before[0]))


def operators_by_label(operators: str | Iterable[str | Fault] | None) -> dict[str, Operator]:
    """Operators by label; an error for operators before training, and if one is given twice."""
    wanted = as_faults(operators)
    fix = 'Operators before training, such as {}, need method="muff".'
    _refuse_training(wanted, operators, "operators", fix)
    labels = [describe(operator) for operator in wanted]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise BadInput(
            "operators", repr(", ".join(twice)), "each operator once", "Vary a parameter that is not searched."
        )
    return {label: operator for label, operator in zip(labels, wanted, strict=True) if isinstance(operator, Operator)}
