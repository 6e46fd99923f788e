"""The shortest text that names an operator."""

from __future__ import annotations

from dataclasses import fields

from mutiny.operators.base import Operator


def describe(operator: Operator) -> str:
    """The shortest text from which `as_operators` makes this operator at any strength.

    >>> from mutiny.operators import OPERATORS
    >>> describe(OPERATORS["NI"](direction="incoming", factor=0.3))
    'NI(direction=incoming)'
    """
    shown = []
    for field in fields(operator):
        value = getattr(operator, field.name)
        if value != field.default and field.name != operator.strength:
            shown.append(f"{field.name}={'+'.join(value) if isinstance(value, tuple) else value}")
    return operator.code + (f"({', '.join(shown)})" if shown else "")
