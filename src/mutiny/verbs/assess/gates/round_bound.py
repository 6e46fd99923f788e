"""A bound with few digits that has the same effect."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

import numpy as np
from numpy.typing import ArrayLike

from mutiny.core.stats.gate_curve import BoundRule

MOST_DECIMALS = 15
LITTLE = 0.05
"""Largest change of a bound, as a share of the range of the values."""
WIDE = Context(prec=60)


def rounded_loosely(bound: float, rule: BoundRule, values: ArrayLike) -> float:
    """The shortest number that is a little looser than a bound, or equal to it, and that the same values pass.

    Args:
        bound: The bound.
        rule: Which values pass a bound.
        values: All values that occur, ``(n,)``.

    >>> rounded_loosely(0.0072345, BoundRule(upper=True), [0.001, 0.0072345, 0.0091])
    0.0073
    """
    if not math.isfinite(bound):
        return bound
    given = np.asarray(values, float)
    wanted = rule.passes(given, bound)
    finite = given[np.isfinite(given)]
    farthest = float(np.ptp(finite)) * LITTLE if len(finite) else 0.0
    towards = ROUND_CEILING if rule.upper else ROUND_FLOOR
    for decimals in range(MOST_DECIMALS + 1):
        place = Decimal(1).scaleb(-decimals)
        rounded = float(Decimal(repr(bound)).quantize(place, towards, WIDE)) + 0.0
        if abs(rounded - bound) <= farthest and np.array_equal(rule.passes(given, rounded), wanted):
            return rounded
    return bound
