"""What settings may be."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from numbers import Integral, Real
from typing import Any

from mutiny.errors import BadInput


def check_whole(settings: Mapping[str, tuple[Any, int]]) -> None:
    """An error for what is no whole number of at least so much; given as ``{name: (value, least)}``."""
    for name, (value, least) in settings.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            raise BadInput(name, repr(value), f"a whole number of at least {least}")


def check_positive(settings: Mapping[str, Any]) -> None:
    """An error for what is no number above 0."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not (isfinite(value) and float(value) > 0):
            raise BadInput(name, repr(value), "a number above 0")
