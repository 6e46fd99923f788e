"""The sentence that a comparison begins with, and what it says about single numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from mutiny.core.stats.comparison import ComparisonVerdict

if TYPE_CHECKING:
    from mutiny.verbs.compare.result import Comparison

POINTS = "accuracy points"
"""Unit of the difference of two classifiers."""


def comparison_sentence(result: Comparison) -> str:
    """The decision, the difference with its interval, the flips and, if it cannot tell, what it takes to tell."""
    if result.same and result.verdict is ComparisonVerdict.CANNOT_TELL:
        return f"{_same(result)}{_needed(result)}"
    return f"{_decision(result)}: {_change(result)}{_tolerated(result)}{_needed(result)}"


def amount(value: float, result: Comparison) -> str:
    """A number in the unit of the difference, with as many digits as its interval supports."""
    width = result.difference.interval.high - result.difference.interval.low
    if result.unit == POINTS:
        digits = 1 if width <= 0 else min(3, max(1, -math.floor(math.log10(width))))
        text = f"{value:.{digits}f}"
    else:
        scale = width or abs(value) or 1.0
        digits = 1 - math.floor(math.log10(scale))
        text = f"{value:.{max(0, digits)}f}" if -6 < digits < 12 else f"{value:.3g}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval_text(low: float, high: float, result: Comparison) -> str:
    """An interval with its level, in brackets.

    The level is that of a two-sided interval: ``1 - 2 alpha``.
    """
    return f"({100 * (1 - 2 * result.alpha):.4g}%: {amount(low, result)} to {amount(high, result)})"


def margin_text(margin: float, unit: str) -> str:
    """The margin with its unit.

    >>> margin_text(0.5, POINTS), margin_text(0.012, "mse")
    ('0.5 accuracy points', '0.012 of mse')
    """
    return f"{margin:.4g} {unit if unit == POINTS else f'of {unit}'}"


def _decision(result: Comparison) -> str:
    margin = margin_text(result.margin, result.unit)
    match result.verdict:
        case ComparisonVerdict.WORSE:
            return "B is worse than A"
        case ComparisonVerdict.BETTER:
            return "B is better than A"
        case ComparisonVerdict.EQUIVALENT if result.same == "network":
            return "B is A"
        case ComparisonVerdict.EQUIVALENT:
            return f"B and A are equivalent within {margin}"
        case ComparisonVerdict.NOT_WORSE:
            return f"B is not worse than A by {margin} or more"
    return "Cannot tell whether B is worse than A"


def _change(result: Comparison) -> str:
    inputs = f"on your {result.subject.inputs:,} input{'s' * (result.subject.inputs != 1)}"
    flips = result.flips
    if result.same == "network":
        return f"both have the same code and the same weights, bit for bit, so every answer {inputs} is the same."
    loss = result.loss
    ends = interval_text(loss.interval.low, loss.interval.high, result)
    if result.same:
        what = "output is the same, bit for bit," if result.same == "outputs" else "answer is the same"
        return f"every {what} {inputs} {ends}."
    if result.unit == POINTS:
        told = f"{flips.broken:,} answer{'s' * (flips.broken != 1)} broken, {flips.repaired:,} repaired"
    else:
        told = f"{flips.broken:,} inputs have a worse score, {flips.repaired:,} a better one"
    return f"{_difference(result)} {inputs}: {told}."


def _same(result: Comparison) -> str:
    """That nothing changes, which few inputs do not prove."""
    what = "gives the same output, bit for bit," if result.same == "outputs" else "gives the same answer"
    loss, count = result.loss.interval, result.subject.inputs
    return (
        f"B {what} as A to each of your {count:,} input{'s' * (count != 1)}, but so few cannot "
        f"exclude a loss of {margin_text(result.margin, result.unit)} on others "
        f"{interval_text(loss.low, loss.high, result)}."
    )


def _difference(result: Comparison) -> str:
    loss = result.loss
    low, high, value = loss.interval.low, loss.interval.high, loss.value
    if result.unit == POINTS:
        if value == 0:
            return f"it loses as many answers as it gains, 0 {POINTS} {interval_text(low, high, result)},"
        if value > 0:
            return f"it loses {amount(value, result)} {POINTS} {interval_text(low, high, result)}"
        return f"it gains {amount(-value, result)} {POINTS} {interval_text(-high, -low, result)}"
    difference, ends = result.difference.value, result.difference.interval
    direction = "higher" if difference > 0 else "lower"
    sign = 1 if difference > 0 else -1
    low, high = sorted((sign * ends.low, sign * ends.high))
    kind = "worse" if value > 0 else "better"
    if difference == 0:
        return f"its mean {result.unit} is the same {interval_text(ends.low, ends.high, result)}"
    brackets = interval_text(low, high, result)
    return f"its mean {result.unit} is {amount(abs(difference), result)} {direction} {brackets}, which is {kind},"


def _tolerated(result: Comparison) -> str:
    """That a loss is certain, but tolerated."""
    if result.verdict in (ComparisonVerdict.EQUIVALENT, ComparisonVerdict.NOT_WORSE) and result.p_value < result.alpha:
        return " The loss is significant, but surely smaller than the margin."
    return ""


def _needed(result: Comparison) -> str:
    if result.verdict is not ComparisonVerdict.CANNOT_TELL:
        return ""
    if result.inputs_needed is None:
        return " It would take more than 100 million inputs to tell; a larger margin takes fewer."
    told = f"About {result.inputs_needed:,} inputs like these would tell four times in five"
    return f" {told}, if {result.assumption}."


def assumption_text(observed: bool, margin: str) -> str:
    """The assumption behind the number of inputs that would tell.

    Args:
        observed: Whether B is taken to lose what it lost; else nothing or the whole margin.
        margin: The margin with its unit.
    """
    if observed:
        return "B loses and changes as much on them as it did here"
    return f"B changes as much on them as it did here and loses either nothing or {margin}"
