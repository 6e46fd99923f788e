"""The shortest text that names an operator."""

from __future__ import annotations

from mutiny.core.parsing import described
from mutiny.faults.base import Operator
from mutiny.faults.training.base import TrainingOperator


def describe(operator: Operator | TrainingOperator) -> str:
    """The shortest text from which `as_faults` makes this operator at any strength.

    >>> from mutiny.faults import OPERATORS
    >>> describe(OPERATORS["NI"](direction="incoming", factor=0.3))
    'NI(direction=incoming)'
    """
    return described(operator, operator.code, without=operator.strength)
