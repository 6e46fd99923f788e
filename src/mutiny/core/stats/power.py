"""Were there enough instances to see a difference of this size?"""

from __future__ import annotations

import math

from scipy import stats

from mutiny.core.errors import BadInput


def power_two_sample(d: float, n1: int, n2: int, alpha: float = 0.05) -> float:
    """Power of the two-sided two-sample t-test at the true effect ``d``, from the noncentral t distribution.

    DeepCrime and its descendants take the ANOVA of two groups, which is the same test but expects ``f = d / 2``, and
    pass d itself. They reach power .8 of 40 instances at d = .46; it takes .91.

    Args:
        d: Cohen's d; its sign does not matter, infinity is allowed.
        n1: number of originals.
        n2: number of mutant instances, n1 + n2 >= 3.
        alpha: level of the test, in (0, 1).

    Returns:
        The chance of a p-value below ``alpha``; ``alpha`` itself where d = 0.

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
