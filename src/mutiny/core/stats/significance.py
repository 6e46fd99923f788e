"""Two-sided p-values of the difference between originals and mutants, and their correction for many tests.

Tests that divide by a variance are undefined if it is zero. They return the limit: p = 1 for equal means, p = 0 for
different ones. A spread below 1e-12 of the largest absolute value counts as zero. Rank tests are exact, also with ties
and for constant samples, up to sizes that their docstrings name; for larger samples they use the normal approximation.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from mutiny.core.errors import BadInput
from mutiny.core.stats.exact import Integers, sign_flip
from mutiny.core.stats.samples import ROUNDING, Floats, levels, paired_samples, pooled_variance, two_samples

MAX_RANK_WORK = 2**28
"""Additions up to which :func:`mann_whitney` is exact (some tenths of a second)."""
MAX_CHOICES = 1e300
"""Choices of one sample among all values up to which it is exact: they are counted in floating point."""


def glm(originals: ArrayLike, mutants: ArrayLike) -> float:
    """The test of DeepCrime and MUFF: a Gaussian GLM ``metric ~ group``, whose coefficient gets a normal tail.

    ``z = (m1 - m2) / sqrt(s² (1/n1 + 1/n2))``, with the pooled s² of n1 + n2 - 2 degrees of freedom. The normal tail
    makes it liberal in small samples: at a level of 5 % it rejects 12 % of independent normal samples of 3 and 3, and
    nearly 6 % of 20 and 20.

    Args:
        originals: Metric of each original, ``(n1,)``, n1 >= 1.
        mutants: Metric of each mutant instance, ``(n2,)``, n2 >= 1, n1 + n2 >= 3.

    Returns:
        The p-value.

    >>> round(glm([0.97, 0.98, 0.99], [0.95, 0.96, 0.97, 0.97]), 4)
    0.0187
    """
    first, second = two_samples(originals, mutants, together=3)
    difference, variance = float(first.mean() - second.mean()), pooled_variance(first, second)
    if variance == 0:
        return _limit(difference)
    z = difference / math.sqrt(variance * (1 / first.size + 1 / second.size))
    return float(2 * special.ndtr(-abs(z)))


def welch(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Welch's t-test: two independent samples whose variances may differ.

    Args:
        originals: Metric of each original, ``(n1,)``, n1 >= 2.
        mutants: Metric of each mutant instance, ``(n2,)``, n2 >= 2.

    Returns:
        The p-value.

    >>> round(welch([0.97, 0.98, 0.99], [0.95, 0.96, 0.97, 0.97]), 4)
    0.075
    """
    first, second = two_samples(originals, mutants, least=2)
    difference = float(first.mean() - second.mean())
    parts = np.array([first.var(ddof=1) / first.size, second.var(ddof=1) / second.size])
    error = math.sqrt(parts.sum())
    if error <= ROUNDING:
        return _limit(difference)
    shares = parts / parts.sum()
    freedom = 1 / float((shares**2 / (first.size - 1, second.size - 1)).sum())
    return float(2 * special.stdtr(freedom, -abs(difference) / error))


def mann_whitney(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Mann-Whitney's U test: two independent samples, compared by rank; exact also with ties.

    The p-value is twice the smaller tail of the rank sum over all choices of n1 of the n1 + n2 values, ties sharing
    their mean rank. If that takes more than ``MAX_RANK_WORK`` additions, or there are more than ``MAX_CHOICES``, the
    normal approximation, corrected for ties and continuity, is used: without ties beyond some 115 against 115 or 20
    against 800, with ties beyond some 95 against 95 or 20 against 550.

    Args:
        originals: Metric of each original, ``(n1,)``, n1 >= 1.
        mutants: Metric of each mutant instance, ``(n2,)``, n2 >= 1.

    Returns:
        The p-value; 1 if all values are equal.

    >>> round(mann_whitney([0.97, 0.98, 0.99], [0.94, 0.95, 0.96]), 4)
    0.1
    >>> round(mann_whitney([0.9, 0.9, 0.9], [0.8, 0.8, 0.8]), 4)
    0.1
    """
    first, second = sorted(two_samples(originals, mutants), key=len)
    order = levels(np.concatenate([first, second]))
    if order.max() == 0:
        return 1.0
    ranks = np.rint(2 * stats.rankdata(order)).astype(np.int64)
    ranks -= ranks.min()
    ranks //= np.gcd.reduce(ranks)
    width = int(np.sort(ranks)[-first.size :].sum()) + 1
    choices = float(special.comb(order.size, first.size))
    if width * first.size * second.size > MAX_RANK_WORK or choices > MAX_CHOICES:
        halves = order[: first.size], order[first.size :]
        return float(stats.mannwhitneyu(*halves, alternative="two-sided", method="asymptotic").pvalue)
    law, observed = _sum_law(ranks, first.size, width), int(ranks[: first.size].sum())
    return min(1.0, 2 * float(min(law[: observed + 1].sum(), law[observed:].sum()) / choices))


def paired_t(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Student's t-test on pairs: instance i of the mutant comes from original i.

    Args:
        originals: Metric of each original, ``(n,)``, n >= 2.
        mutants: Metric of the mutant of each original, ``(n,)``.

    Returns:
        The p-value. The variance that decides about the limit is that of the differences.

    >>> round(paired_t([0.97, 0.98, 0.99], [0.95, 0.97, 0.97]), 4)
    0.0377
    """
    differences = paired_samples(originals, mutants)
    if differences.size < 2:
        raise BadInput("originals", f"{differences.size} pair", "at least 2 pairs")
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(differences.size)
    if error <= ROUNDING:
        return _limit(mean)
    return float(2 * special.stdtr(differences.size - 1, -abs(mean) / error))


def wilcoxon(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Wilcoxon's signed-rank test on pairs, exact also with ties: :func:`sign_flip` on the signed ranks.

    Pairs without a difference are left out, as in Wilcoxon's paper. Ties share their mean rank. Beyond some 450 pairs
    with different magnitudes the normal approximation is used, see :func:`sign_flip_counts`.

    Args:
        originals: Metric of each original, ``(n,)``, n >= 1.
        mutants: Metric of the mutant of each original, ``(n,)``.

    Returns:
        The p-value; 1 if no pair differs.

    >>> wilcoxon([0.97, 0.98, 0.99], [0.95, 0.97, 0.97])
    0.25
    """
    differences = paired_samples(originals, mutants)
    differences = differences[differences != 0]
    twice_ranks = np.rint(2 * stats.rankdata(levels(np.abs(differences)))) if differences.size else differences
    return sign_flip((np.sign(differences) * twice_ranks).astype(np.int64))


def _sum_law(values: Integers, chosen: int, width: int) -> Floats:
    """Number of ways in which ``chosen`` of the ``values`` (>= 0) add up to 0, 1, ..., width - 1."""
    ways: Floats = np.zeros((chosen + 1, width))  # ways[j, s]: j of the values so far add up to s
    ways[0, 0] = 1
    for place, value in enumerate(values.tolist()):
        # Only numbers of choices that are possible so far and can still become ``chosen``.
        low, high = max(1, chosen - (values.size - 1 - place)), min(place + 1, chosen)
        ways[low : high + 1, value:] += ways[low - 1 : high, : width - value]
    return np.asarray(ways[chosen])


def _limit(difference: float) -> float:
    return 1.0 if abs(difference) <= ROUNDING else 0.0


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down correction: valid for any dependence between tests, never weaker than Bonferroni's.

    ``p̃(i) = max over j <= i of min(1, (m - j + 1) p(j))`` for the sorted p-values ``p(1) <= ... <= p(m)``.

    Args:
        p_values: P-values ``(m,)`` in [0, 1]; may be empty.

    Returns:
        Adjusted p-values ``(m,)`` in the same order; reject those below the level.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    raw = _checked(p_values)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(raw[order] * np.arange(raw.size, 0, -1)))
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up correction, which bounds the expected share of false rejections.

    ``q(i) = min over j >= i of min(1, m p(j) / j)`` for the sorted p-values. It holds for independent tests and for
    positively dependent ones.

    Args:
        p_values: P-values ``(m,)`` in [0, 1]; may be empty.

    Returns:
        Adjusted p-values ``(m,)`` in the same order.

    >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.5])
    array([0.04      , 0.05333333, 0.05333333, 0.5       ])
    """
    raw = _checked(p_values)
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    steps = raw[order] * raw.size / np.arange(1, raw.size + 1)
    adjusted[order] = np.minimum(1, np.minimum.accumulate(steps[::-1])[::-1])
    return adjusted


def _checked(p_values: ArrayLike) -> Floats:
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1:
        raise BadInput("p_values", f"an array of shape {raw.shape}", "shape (m,)")
    if not ((raw >= 0) & (raw <= 1)).all():
        raise BadInput("p_values", "a value outside [0, 1] or NaN", "probabilities")
    return raw
