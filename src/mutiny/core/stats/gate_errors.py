"""How likely networks pass a bound on accuracy, or on how far accuracy may drop: exact sums over the binomial law.

An input is *broken* if the clean network gets it right and the tested one does not, and *repaired* in the reverse case.
With ``B`` broken and ``R`` repaired inputs among n, the accuracy drops by ``(B - R) / n``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import ROUNDING, Floats

DEVIATIONS, MORE = 10, 40
"""Sums go over so many standard deviations around the mean, and so many terms more; the rest is below 1e-20."""


def least_count(bound: float, inputs: int, strict: bool = False) -> int:
    """Smallest number of inputs whose share is at least a bound, up to rounding.

    Args:
        bound: The bound.
        inputs: Number of inputs.
        strict: Whether the share must be above the bound.

    >>> least_count(0.97, 1000), least_count(0.97, 1000, strict=True), least_count(0.97, 50)
    (970, 971, 49)
    """
    slack = ROUNDING * max(1.0, abs(bound))
    return math.floor(inputs * (bound + slack)) + 1 if strict else math.ceil(inputs * (bound - slack))


def most_count(bound: float, inputs: int, strict: bool = False) -> int:
    """Largest number of inputs whose share is at most a bound, or below it, up to rounding.

    >>> most_count(0.005, 1000), most_count(0.005, 1000, strict=True), most_count(0.97 - 0.965, 1000)
    (5, 4, 5)
    """
    return least_count(bound, inputs, not strict) - 1


def accuracy_pass_chance(accuracy: ArrayLike, inputs: int, least: int) -> Floats:
    """Probability that at least so many of the answers to random test inputs are correct: ``P(X >= least)``.

    Args:
        accuracy: Probability of a correct answer, any shape.
        inputs: Number of test inputs.
        least: Smallest number of correct answers that passes, see `least_count`.

    >>> accuracy_pass_chance([0.96, 0.97, 0.98], 1000, least_count(0.97, 1000)).round(3)
    array([0.058, 0.548, 0.987])
    """
    rates = _shares(accuracy, "accuracy")
    return np.asarray(stats.binom.sf(least - 1, inputs, rates), float)


def drop_pass_chance(broken: ArrayLike, repaired: ArrayLike, inputs: int, most: int) -> Floats:
    """Probability that a network loses at most so many of random test inputs: ``P(B - R <= most)``.

    ``B + R`` is binomial, and so is ``B`` given ``B + R``: the sum over all values of the former.

    Args:
        broken: Probability that an input is broken, any shape.
        repaired: Probability that it is repaired; a shape that broadcasts.
        inputs: Number of test inputs.
        most: Largest number of lost inputs that passes, see `most_count`.

    >>> drop_pass_chance([0.002, 0.006, 0.012], 0.002, 1000, most_count(0.005, 1000)).round(3)
    array([0.996, 0.712, 0.109])
    """
    worse, better = np.broadcast_arrays(_shares(broken, "broken"), _shares(repaired, "repaired"))
    if (worse + better > 1 + ROUNDING).any():
        raise BadInput("broken, repaired", "a sum above 1", "shares of all inputs")
    chances = [_drop(float(b), float(r), inputs, most) for b, r in zip(worse.flat, better.flat, strict=True)]
    return np.reshape(np.array(chances, float), worse.shape)


def _drop(broken: float, repaired: float, inputs: int, most: int) -> float:
    rate = min(1.0, broken + repaired)
    if rate <= 0:
        return float(most >= 0)
    changed = _likely(inputs, rate)
    # B - R <= most and B + R = changed: B <= (most + changed) / 2
    within = stats.binom.cdf((most + changed) // 2, changed, broken / rate)
    return float(min(1.0, stats.binom.pmf(changed, inputs, rate) @ within))


def drop_pass_chance_given(right: int, inputs: int, broken: ArrayLike, repaired: ArrayLike, most: int) -> Floats:
    """The same probability for a clean network that gets a known number of the test inputs right.

    Then ``B`` and ``R`` are independent and binomial, over the inputs that it gets right and those it gets wrong.

    Args:
        right: Number of test inputs that the clean network gets right.
        inputs: Number of test inputs.
        broken: Probability that an input which is right is broken, any shape.
        repaired: Probability that an input which is wrong is repaired; a shape that broadcasts.
        most: Largest number of lost inputs that passes, see `most_count`.

    >>> drop_pass_chance_given(970, 1000, [0.002, 0.006, 0.012], 0.05, most_count(0.005, 1000)).round(3)
    array([0.995, 0.683, 0.093])
    """
    if not 0 <= right <= inputs:
        raise BadInput("right", right, f"a number from 0 to {inputs}")
    worse, better = np.broadcast_arrays(_shares(broken, "broken"), _shares(repaired, "repaired"))
    chances = [
        _drop_given(right, inputs, float(b), float(r), most) for b, r in zip(worse.flat, better.flat, strict=True)
    ]
    return np.reshape(np.array(chances, float), worse.shape)


def _drop_given(right: int, inputs: int, broken: float, repaired: float, most: int) -> float:
    again = _likely(inputs - right, repaired)
    within = stats.binom.cdf(most + again, right, broken)
    return float(min(1.0, stats.binom.pmf(again, inputs - right, repaired) @ within))


def _likely(trials: int, rate: float) -> np.ndarray:
    """Numbers of successes that are not negligible."""
    spread = DEVIATIONS * math.sqrt(trials * rate * (1 - rate)) + MORE
    return np.arange(max(0, int(trials * rate - spread)), min(trials, int(trials * rate + spread)) + 1)


def _shares(values: ArrayLike, name: str) -> Floats:
    shares = np.asarray(values, float)
    if not ((shares >= 0) & (shares <= 1)).all():
        raise BadInput(name, "a value outside 0 to 1", "probabilities")
    return shares
