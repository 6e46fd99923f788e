"""The number of inputs to label, given as a number, a share or a percentage."""

from __future__ import annotations

import re
from numbers import Integral, Real

from mutiny.core.errors import BadInput

EXPECTED = "a number of inputs (500), a share (0.05) or a percentage (5%)"


def as_count(budget: str | float, size: int) -> int:
    """The number of inputs that a budget means in a pool of ``size`` inputs; at least one.

    A whole number is a number of inputs; ``1.0`` and ``100%`` mean the whole pool.

    >>> as_count("5%", 10_000), as_count(0.05, 10_000), as_count(500, 10_000), as_count("500", 10_000)
    (500, 500, 500, 500)
    """
    value, share = check_budget(budget)
    if share:
        return max(1, round(value * size))
    if value > size:
        raise BadInput("budget", budget, f"between 1 and {size}, the number of inputs in the pool")
    return int(value)


def check_budget(budget: str | float) -> tuple[float, bool]:
    """The number, and whether it is a share; an error if it is not valid for any pool."""
    value, share = _read(budget)
    if share and not 0 < value <= 1:
        raise BadInput("budget", budget, "more than 0% and at most 100% of the pool")
    if not share and value < 1:
        raise BadInput("budget", budget, "at least 1 input")
    return value, share


def _read(budget: str | float) -> tuple[float, bool]:
    """The number and whether it is a share."""
    if isinstance(budget, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*(%?)\s*", budget)
        if match is None:
            raise BadInput("budget", repr(budget), EXPECTED)
        if match.group(2):
            return float(match.group(1)) / 100, True
        return float(match.group(1)), "." in match.group(1)
    if isinstance(budget, bool) or not isinstance(budget, Real):
        raise BadInput("budget", repr(budget), EXPECTED)
    return float(budget), not isinstance(budget, Integral)
