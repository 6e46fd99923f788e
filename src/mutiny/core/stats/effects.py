"""Sizes of the difference between originals and mutants, and the power to detect them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import ROUNDING, levels, pooled_variance, two_samples


def cohen_d(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Cohen's d: the difference of the means in pooled standard deviations, ``(m1 - m2) / s``, as in DeepCrime.

    Args:
        originals: Metric of each original, ``(n1,)``, n1 >= 1.
        mutants: Metric of each mutant instance, ``(n2,)``, n2 >= 1, n1 + n2 >= 3.

    Returns:
        Positive where the originals are higher. Without variance: 0 for equal means, else +-infinity.

    >>> round(cohen_d([0.97, 0.98, 0.99], [0.95, 0.96, 0.97]), 4)
    2.0
    >>> cohen_d([0.9, 0.9], [0.9]), cohen_d([0.9, 0.9], [0.8])
    (0.0, inf)
    """
    first, second = two_samples(originals, mutants, together=3)
    difference, variance = float(first.mean() - second.mean()), pooled_variance(first, second)
    if variance == 0:
        return 0.0 if abs(difference) <= ROUNDING else math.copysign(math.inf, difference)
    return difference / math.sqrt(variance)


def a12(originals: ArrayLike, mutants: ArrayLike) -> float:
    """Vargha and Delaney's A12: the probability that an original is better than a mutant, ``P(o > m) + P(o = m) / 2``.

    Args:
        originals: Metric of each original, ``(n1,)``, n1 >= 1.
        mutants: Metric of each mutant instance, ``(n2,)``, n2 >= 1.

    Returns:
        A number from 0 to 1; 0.5 means no difference. Values that differ only by rounding count as equal.

    >>> a12([0.97, 0.98], [0.95, 0.97])
    0.875
    """
    first, second = two_samples(originals, mutants)
    ranks = stats.rankdata(levels(np.concatenate([first, second])))
    wins = ranks[: first.size].sum() - first.size * (first.size + 1) / 2
    return float(wins / (first.size * second.size))


def cohen_g(differences: ArrayLike, counts: ArrayLike | None = None) -> float:
    """Cohen's g for :func:`sign_flip`: the share of the discordant weight in favor of the original, minus one half.

    Args:
        differences: For each input, number of correct originals minus number of correct mutants, ``(n,)``.
        counts: Number of occurrences of each difference, ``(n,)``; 1 by default.

    Returns:
        ``sum(max(d, 0)) / sum(|d|) - 0.5``, from -0.5 to 0.5; 0 where nothing differs. Cohen: 0.05 is small, 0.15
        medium, 0.25 large.

    >>> cohen_g([1, 1, 1, 0, -1])
    0.25
    >>> cohen_g([1, 0, -1], [3, 1, 1])
    0.25
    """
    array = np.asarray(differences, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise BadInput("differences", f"an array of shape {array.shape}", "finite numbers, shape (n,)")
    number = np.ones_like(array) if counts is None else np.asarray(counts, dtype=np.float64)
    if number.shape != array.shape or not (np.isfinite(number) & (number >= 0)).all():
        raise BadInput("counts", f"an array of shape {number.shape}", f"one count >= 0 for each of {array.size} values")
    weight = float(np.abs(array) @ number)
    return float(np.maximum(array, 0) @ number) / weight - 0.5 if weight > 0 else 0.0


def power_two_sample(d: float, n1: int, n2: int, alpha: float = 0.05) -> float:
    """Power of the two-sided two-sample t-test at the true effect ``d``, from the noncentral t distribution.

    DeepCrime and tools based on it use the power of an ANOVA of two groups. That is the same test, but it expects
    ``f = d / 2``, and they pass d. With 40 instances they report power 0.8 at d = 0.46, though it takes 0.91.

    Args:
        d: Cohen's d; its sign does not matter, infinity is allowed.
        n1: Number of originals.
        n2: Number of mutant instances, n1 + n2 >= 3.
        alpha: Level of the test, in (0, 1).

    Returns:
        Probability of a p-value below ``alpha``; ``alpha`` itself if d = 0.

    >>> round(power_two_sample(0.8, 20, 20), 4), round(power_two_sample(0.91, 20, 20), 2)
    (0.6934, 0.8)
    """
    if n1 < 1 or n2 < 1:
        raise BadInput("n1, n2", (n1, n2), "at least one instance each")
    return _power_f(abs(d) / 2, 4 * n1 * n2 / (n1 + n2), n1 + n2 - 2, alpha)


def _power_f(f: float, n: float, freedom: int, alpha: float) -> float:
    """Noncentral F of two groups with noncentrality ``f² n``: the square of the noncentral t."""
    if not 0 < alpha < 1:
        raise BadInput("alpha", alpha, "a probability between 0 and 1")
    if freedom < 1:
        raise BadInput("n", f"{freedom} degrees of freedom", "more instances than groups")
    if math.isnan(f):
        raise BadInput("d", f, "a number")
    noncentrality = f * f * n
    if noncentrality < 1e-12:  # scipy 1.17: ncf.sf(4, 1, 38, 0) is -0.95
        return alpha
    critical = float(stats.f.isf(alpha, 1, freedom))
    if noncentrality > 1e10:  # scipy gives NaN somewhere beyond; the numerator of F is constant to five digits
        return float(stats.chi2.cdf(freedom * noncentrality / critical, freedom))
    return float(min(1.0, stats.ncf.sf(critical, 1, freedom, noncentrality)))
