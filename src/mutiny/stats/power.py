"""Were there enough instances to see a difference of this size?"""

from __future__ import annotations

import math

from scipy import stats

from mutiny.errors import BadInput


def power_two_sample(d: float, n1: int, n2: int, alpha: float = 0.05) -> float:
    """Power of the two-sided two-sample t-test at the true effect ``d``, from the noncentral t distribution.

    Args:
        d: Cohen's d; its sign does not matter, infinity is allowed.
        n1: number of originals.
        n2: number of mutant instances, n1 + n2 >= 3.
        alpha: level of the test, in (0, 1).

    Returns:
        The chance of a p-value below ``alpha``; ``alpha`` itself where d = 0.

    >>> round(power_two_sample(0.8, 20, 20), 4)
    0.6934
    """
    if n1 < 1 or n2 < 1:
        raise BadInput("n1, n2", (n1, n2), "at least one instance each")
    return _power_f(abs(d) / 2, 4 * n1 * n2 / (n1 + n2), n1 + n2 - 2, alpha)


def anova_power(d: float, n: int, alpha: float = 0.05, groups: int = 2) -> float:
    """Power of the one-way ANOVA, with the effect size that it expects: ``f = d / 2``.

    DeepCrime and its descendants pass d itself as f. They reach power .8 of 40 instances at d = .46; it takes .91.

    Args:
        d: Cohen's d between the extreme groups; of more than two, half of the groups lie at either extreme.
        n: number of instances of all groups together, more than ``groups``.
        alpha: level of the test, in (0, 1).
        groups: number of groups, equally large.

    Returns:
        The chance of a p-value below ``alpha``; for two groups it equals :func:`power_two_sample`.

    >>> round(anova_power(0.91, 40), 2), round(anova_power(2 * 0.46, 40), 2)
    (0.8, 0.81)
    """
    if groups < 2:
        raise BadInput("groups", groups, "at least 2")
    return _power_f(abs(d) / 2, n, n - groups, alpha, groups - 1)


def instances_needed(d: float, alpha: float = 0.05, power: float = 0.8) -> int:
    """Smallest number of instances per group with which the two-sample t-test has the power.

    Args:
        d: the effect to be seen, not 0.
        alpha: level of the test, in (0, 1).
        power: the chance wanted, in (0, 1).

    Returns:
        A number of at least 2.

    >>> instances_needed(0.5), instances_needed(0.8)
    (64, 26)
    """
    if not 0 < power < 1:
        raise BadInput("power", power, "a probability between 0 and 1")
    low, high = 1, 2
    while power_two_sample(d, high, high, alpha) < power:
        low, high = high, 2 * high
        if high > 10**9:
            raise BadInput("d", d, "an effect that a billion instances can show", "Name the smallest d that matters.")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_two_sample(d, middle, middle, alpha) >= power else (middle, high)
    return high


def _power_f(f: float, n: float, freedom: int, alpha: float, groups_freedom: int = 1) -> float:
    """Noncentral F with noncentrality ``f² n``; for two groups the square of the noncentral t."""
    if not 0 < alpha < 1:
        raise BadInput("alpha", alpha, "a probability between 0 and 1")
    if freedom < 1:
        raise BadInput("n", f"{freedom} degrees of freedom", "more instances than groups")
    if math.isnan(f):
        raise BadInput("d", f, "a number")
    noncentrality = f * f * n
    if noncentrality < 1e-12:  # scipy 1.17: ncf.sf(4, 1, 38, 0) is -0.95
        return alpha
    critical = float(stats.f.isf(alpha, groups_freedom, freedom))
    if noncentrality > 1e10:  # scipy gives NaN somewhere beyond; the numerator of F is constant to five digits
        return float(stats.chi2.cdf(freedom * noncentrality / (groups_freedom * critical), freedom))
    return float(min(1.0, stats.ncf.sf(critical, groups_freedom, freedom, noncentrality)))
