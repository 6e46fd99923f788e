"""Bounds of comparisons: numbers with units, their shortest exact text, and comparison up to rounding."""

from __future__ import annotations

import math
import re
from decimal import Context, Decimal

from mutiny.core.stats.samples import ROUNDING

OPERATORS = (">=", ">", "<=", "<")
UNITS = {"": 0, "%": -2, "pt": -2}
"""Decimal places by which a unit moves a number."""
WIDE = Context(prec=60)
"""For numbers of up to 15 digits before the point, and as many after it as tell them from others."""
PARTS = re.compile(r"([+-]?[0-9.]+)(?:e([+-]?[0-9]+))?")


def bound_of(number: str, unit: str = "") -> float:
    """The value of a number with its unit, correctly rounded: ``0.3pt`` is 0.003, not 0.3 / 100.

    Args:
        number: A decimal number, with an exponent or without.
        unit: ``%`` for percent, ``pt`` for points, or nothing.

    Returns:
        The value; infinity if it is too large.

    >>> bound_of("97", "%"), bound_of("0.3", "pt"), bound_of("1e-3")
    (0.97, 0.003, 0.001)
    """
    parts = PARTS.fullmatch(number)
    assert parts is not None
    exponent = int(parts[2] or 0) + UNITS[unit]
    return float(f"{parts[1]}e{exponent}") + 0.0  # no negative zero


def shown_bound(value: float, points: bool = False, digits: int | None = None) -> str:
    """The shortest text of a number that `bound_of` reads as the same number.

    Args:
        value: The number.
        points: Whether it is shown in points.
        digits: Decimal places to which it is rounded; by default it is not.

    >>> shown_bound(0.97), shown_bound(0.005, points=True), shown_bound(2.0, digits=3), shown_bound(1e-9)
    ('0.97', '0.5pt', '2', '1e-9')
    """
    if not math.isfinite(value):
        return str(value)
    exact = Decimal(repr(value)).scaleb(2 if points else 0)
    rounded = exact if digits is None else exact.quantize(Decimal(1).scaleb(-digits), context=WIDE)
    rounded = rounded.normalize() if rounded else Decimal(0)  # no negative zero
    far = not -5 <= rounded.adjusted() <= 15
    text = f"{rounded:e}".replace("e+", "e") if far else f"{rounded:f}"
    return text + "pt" * points


def holds(value: float, operator: str, bound: float) -> bool | None:
    """Whether a value lies on the right side of a bound; ``None`` if the value is not a number.

    A value that differs from the bound only by rounding counts as equal to it, so that a network with 965 of 1,000
    correct answers satisfies ``drop <= 0.5pt`` if the clean one has 970.

    >>> holds(0.97 - 0.965, "<=", 0.005), 0.97 - 0.965 <= 0.005
    (True, False)
    """
    if math.isnan(value):
        return None
    equal = abs(value - bound) <= slack(bound)
    if operator in (">=", "<="):
        return equal or (value > bound if operator == ">=" else value < bound)
    return not equal and (value > bound if operator == ">" else value < bound)


def slack(bound: float) -> float:
    """Difference from a bound that is rounding."""
    return ROUNDING * max(1.0, abs(bound))


def side(operator: str, satisfied: bool) -> str:
    """Words for a value that satisfies a comparison, or does not.

    >>> side(">=", True), side(">=", False)
    ('at least', 'below')
    """
    words = {">=": ("at least", "below"), ">": ("above", "not above"), "<=": ("at most", "above")}
    return words.get(operator, ("below", "not below"))[not satisfied]
