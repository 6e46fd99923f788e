"""The shortest text that names an operator."""

from __future__ import annotations

from mutiny.operators.base import Operator
from mutiny.operators.training.base import TrainingOperator
from mutiny.parsing import described


def describe(operator: Operator | TrainingOperator) -> str:
    """The shortest text from which `as_faults` makes this operator at any strength.

    >>> from mutiny.operators import OPERATORS
    >>> describe(OPERATORS["NI"](direction="incoming", factor=0.3))
    'NI(direction=incoming)'
    """
    return described(operator, operator.code, without=operator.strength)
