"""Checks of the numbers that users pass as arguments."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real

from mutiny.core.errors import BadInput


def is_number(value: object) -> bool:
    """Whether a value is a real number; booleans are not.

    >>> is_number(0.5), is_number(True), is_number("0.5")
    (True, False, False)
    """
    return isinstance(value, Real) and not isinstance(value, bool)


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raises `BadInput` unless a value is a whole number of at least ``least``.

    >>> check_whole("seed", 0, 0)
    >>> check_whole("count", 2.5)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: count=2.5: expected a whole number of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise BadInput(name, repr(value), f"a whole number of at least {least}")


def check_positive(name: str, value: object) -> None:
    """Raises `BadInput` unless a value is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, Real) or not (isfinite(value) and float(value) > 0):
        raise BadInput(name, repr(value), "a number above 0")
