"""Could the difference between originals and mutants be chance? Two-sided p-values from samples of a metric.

Tests that divide by a variance have no answer of their own where it is zero. Here it is always the limit: equal means
give p = 1, different means give p = 0. Below 1e-12 of the largest absolute value, a spread counts as zero.
Rank tests divide by nothing and keep their exact p-value, also for constant samples.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mutiny.errors import BadInput
from mutiny.stats.exact import sign_flip
from mutiny.stats.samples import DUST, levels, paired_samples, pooled_variance, two_samples


def glm(originals: ArrayLike, mutants: ArrayLike) -> float:
    """The test of DeepCrime and MUFF: a Gaussian GLM ``metric ~ group``, whose coefficient gets a normal tail.

    ``z = (m1 - m2) / sqrt(s² (1/n1 + 1/n2))``, with the pooled s² of n1 + n2 - 2 degrees of freedom. The normal tail
    makes it liberal in small samples: see :func:`true_level`.

    Args:
        originals: metric of each original, ``(n1,)``, n1 >= 1.
        mutants: metric of each mutant instance, ``(n2,)``, n2 >= 1, n1 + n2 >= 3.

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
    return float(2 * stats.norm.sf(abs(z)))


def welch(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Welch's t-test: two independent samples whose variances may differ.

    Args:
        originals: metric of each original, ``(n1,)``, n1 >= 2.
        mutants: metric of each mutant instance, ``(n2,)``, n2 >= 2.

    Returns:
        The p-value.

    >>> round(welch([0.97, 0.98, 0.99], [0.95, 0.96, 0.97, 0.97]), 4)
    0.075
    """
    first, second = two_samples(originals, mutants, least=2)
    difference = float(first.mean() - second.mean())
    parts = np.array([first.var(ddof=1) / first.size, second.var(ddof=1) / second.size])
    error = math.sqrt(parts.sum())
    if error <= DUST:
        return _limit(difference)
    shares = parts / parts.sum()
    freedom = 1 / float((shares**2 / (first.size - 1, second.size - 1)).sum())
    return float(2 * stats.t.sf(abs(difference) / error, freedom))


def mann_whitney(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Mann-Whitney's U test: two independent samples, compared by rank.

    Exact without ties where one sample has at most 8 values; otherwise normal, corrected for ties and continuity.

    Args:
        originals: metric of each original, ``(n1,)``, n1 >= 1.
        mutants: metric of each mutant instance, ``(n2,)``, n2 >= 1.

    Returns:
        The p-value; 1 where all values are equal.

    >>> round(mann_whitney([0.97, 0.98, 0.99], [0.94, 0.95, 0.96]), 4)
    0.1
    """
    first, second = two_samples(originals, mutants)
    ranks = levels(np.concatenate([first, second]))
    if ranks.max() == 0:
        return 1.0
    return float(stats.mannwhitneyu(ranks[: first.size], ranks[first.size :], alternative="two-sided").pvalue)


def paired_t(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Student's t-test on pairs: instance i of the mutant comes from original i.

    Args:
        originals: metric of each original, ``(n,)``, n >= 2.
        mutants: metric of its mutant, ``(n,)``.

    Returns:
        The p-value. The variance that decides about the limit is that of the differences.

    >>> round(paired_t([0.97, 0.98, 0.99], [0.95, 0.97, 0.97]), 4)
    0.0377
    """
    differences = paired_samples(originals, mutants)
    if differences.size < 2:
        raise BadInput("originals", f"{differences.size} pair", "at least 2 pairs")
    mean, error = float(differences.mean()), float(differences.std(ddof=1)) / math.sqrt(differences.size)
    if error <= DUST:
        return _limit(mean)
    return float(2 * stats.t.sf(abs(mean) / error, differences.size - 1))


def wilcoxon(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Wilcoxon's signed-rank test on pairs, exact also with ties: :func:`sign_flip` on the signed ranks.

    Pairs without a difference are left out, as Wilcoxon did. Ties share their mean rank. Beyond some 450 pairs with
    different magnitudes the p-value is normal: see :func:`sign_flip_counts`.

    Args:
        originals: metric of each original, ``(n,)``, n >= 1.
        mutants: metric of its mutant, ``(n,)``.

    Returns:
        The p-value; 1 where no pair differs.

    >>> wilcoxon([0.97, 0.98, 0.99], [0.95, 0.97, 0.97])
    0.25
    """
    differences = paired_samples(originals, mutants)
    differences = differences[differences != 0]
    twice_ranks = np.rint(2 * stats.rankdata(levels(np.abs(differences)))) if differences.size else differences
    return sign_flip((np.sign(differences) * twice_ranks).astype(np.int64))


def true_level(n1: int, n2: int, alpha: float = 0.05) -> float:
    """How often :func:`glm` finds a difference where there is none, for normal data: ``2 P(t > z)``.

    Args:
        n1: number of originals.
        n2: number of mutant instances.
        alpha: the nominal level, in (0, 1).

    Returns:
        The real error rate, above ``alpha`` because the tail should be that of t with n1 + n2 - 2 degrees of freedom.

    >>> round(true_level(20, 20), 4), round(true_level(3, 3), 4)
    (0.0574, 0.1216)
    """
    if not 0 < alpha < 1:
        raise BadInput("alpha", alpha, "a probability between 0 and 1")
    if n1 < 1 or n2 < 1 or n1 + n2 < 3:
        raise BadInput("n1, n2", (n1, n2), "at least one instance each and three together")
    return float(2 * stats.t.sf(stats.norm.isf(alpha / 2), n1 + n2 - 2))


def _limit(difference: float) -> float:
    return 1.0 if abs(difference) <= DUST else 0.0
