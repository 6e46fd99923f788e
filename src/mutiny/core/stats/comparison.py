"""Is one network worse than another? Verdicts from answers, or from scores, to the same inputs.

Tests are one-sided at ``alpha``, and intervals are two-sided at ``1 - 2 alpha``, as in a test of equivalence (TOST), so
that verdict and interval agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from mutiny.core.errors import BadInput
from mutiny.core.stats.intervals import Interval, paired_difference
from mutiny.core.stats.notice import mcnemar_worse
from mutiny.core.stats.samples import sample


class ComparisonVerdict(StrEnum):
    """Answer to whether B is worse than A."""

    BETTER = "better"
    """B is better, by the one-sided test."""
    EQUIVALENT = "equivalent"
    """The whole interval of the difference lies within the margin."""
    NOT_WORSE = "not worse"
    """The interval does not reach a loss of the margin."""
    WORSE = "worse"
    """B is worse, by the one-sided test, and may lose the margin or more."""
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True)
class PairedComparison:
    """What the same inputs tell about the difference of B and A.

    Attributes:
        verdict: The decision.
        value: Difference, positive if B is better.
        interval: Two-sided interval of the difference at ``1 - 2 alpha``.
        p_worse: P-value of the one-sided test of whether B is worse.
        p_better: P-value of the one-sided test of whether B is better.
    """

    verdict: ComparisonVerdict
    value: float
    interval: Interval
    p_worse: float
    p_better: float


def compare_answers(broken: int, repaired: int, n: int, margin: float, alpha: float = 0.05) -> PairedComparison:
    """Compares the rates of correct answers of two networks on the same inputs.

    Exact McNemar test, and the interval of `paired_difference`.

    Args:
        broken: Inputs that A gets right and B gets wrong.
        repaired: Inputs that A gets wrong and B gets right.
        n: Number of inputs.
        margin: Largest tolerated loss, as a share of the inputs.
        alpha: Level of the one-sided tests.

    >>> compare_answers(190, 70, 10_000, 0.005).verdict, compare_answers(30, 28, 10_000, 0.005).verdict
    (<ComparisonVerdict.WORSE: 'worse'>, <ComparisonVerdict.EQUIVALENT: 'equivalent'>)
    """
    interval = paired_difference(repaired, broken, n, 1 - 2 * alpha)
    p_worse, p_better = (float(mcnemar_worse(*pair)) for pair in ((broken, repaired), (repaired, broken)))
    verdict = _verdict(interval, p_worse, p_better, margin, alpha)
    return PairedComparison(verdict, (repaired - broken) / n, interval, p_worse, p_better)


def compare_scores(gains: ArrayLike, margin: float, alpha: float = 0.05) -> PairedComparison:
    """Compares the mean scores of two networks on the same inputs: Student's t on the differences.

    No p-value is below ``2 ** -n``, the smallest of a sign-flip test: few inputs with equal differences prove nothing.

    Args:
        gains: Score of B minus score of A for each input, ``(n,)``, n >= 2; positive if B is better.
        margin: Largest tolerated loss of the mean score.
        alpha: Level of the one-sided tests.

    >>> compare_scores([-0.1, -0.3, -0.2, -0.2, -0.1, -0.3], margin=0.1).verdict
    <ComparisonVerdict.WORSE: 'worse'>
    >>> compare_scores([-1.0, -1.0], margin=0.1).verdict
    <ComparisonVerdict.CANNOT_TELL: 'cannot tell'>
    """
    values = sample(gains, "gains", 2)
    n, largest = values.size, float(np.abs(values).max()) or 1.0
    scaled = values / largest  # neither overflows nor vanishes when squared
    mean, error = float(scaled.mean()), float(scaled.std(ddof=1)) / math.sqrt(n)
    half = float(special.stdtrit(n - 1, 1 - alpha)) * error
    low, high = largest * (mean - half), largest * (mean + half)
    least = 0.5**n
    if least >= alpha:
        low, high = min(low, 0.0), max(high, 0.0)
    tails = [_tail(side * mean, error, n) for side in (1, -1)]
    p_worse, p_better = (max(least, tail) for tail in tails)
    interval = Interval(low, high, 1 - 2 * alpha, "Student's t")
    verdict = _verdict(interval, p_worse, p_better, margin, alpha)
    return PairedComparison(verdict, largest * mean, interval, p_worse, p_better)


def check_alpha(alpha: object) -> None:
    """Raises `BadInput` unless a level leaves room for an interval of both sides.

    >>> check_alpha(0.7)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: alpha=0.7: expected a probability above 0 and below 0.5.
    """
    fine = isinstance(alpha, (int, float)) and not isinstance(alpha, bool) and 0 < alpha < 0.5
    if not fine:
        raise BadInput("alpha", repr(alpha), "a probability above 0 and below 0.5")


def _tail(mean: float, error: float, n: int) -> float:
    """Chance of a mean that is as low, if the true mean is 0."""
    if error <= 0:
        return 1.0 if mean >= 0 else 0.0
    return float(special.stdtr(n - 1, mean / error))


def _verdict(interval: Interval, p_worse: float, p_better: float, margin: float, alpha: float) -> ComparisonVerdict:
    if p_better < alpha:
        return ComparisonVerdict.BETTER
    if -margin < interval.low:
        return ComparisonVerdict.EQUIVALENT if interval.high < margin else ComparisonVerdict.NOT_WORSE
    return ComparisonVerdict.WORSE if p_worse < alpha else ComparisonVerdict.CANNOT_TELL
