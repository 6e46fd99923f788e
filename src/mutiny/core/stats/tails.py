"""Bounds on the tail of a distribution, also beyond the largest value seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mutiny.core.stats.intervals import rate_bound
from mutiny.core.stats.samples import Floats

THRESHOLDS = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 22.0, 30.0)
"""Values at which the tail probability is estimated; `tail_bound` uses each as the start of an extrapolation."""
SURPRISE = 1e-3
"""Smallest probability of the sample under an extrapolation; less likely extrapolations are rejected."""


def tail_bound(values: ArrayLike, limits: ArrayLike, risk: float) -> Floats:
    """Upper bounds of ``P(value >= limit)`` for limits that may lie far beyond all values seen.

    Assumes that from some threshold on the tail is exponential or lighter (an increasing average failure rate): then
    ``P(v >= t)^(1/t)`` falls with ``t``, and the tail probability at a threshold t bounds it beyond:
    ``P(v >= limit) <= P(v >= t)^(limit / t)``. That probability is itself bounded from the sample, see `rate_bound`.
    A threshold is not used if the sample contradicts its extrapolation at a later threshold. This detects a tail that
    is heavy within the sample, not one that becomes heavy beyond it; callers must check the bound on random inputs.

    Args:
        values: Independent sample of a non-negative quantity.
        limits: Limits, ``(k,)``.
        risk: Probability that the sample gives a bound that is too low.

    >>> draws = np.random.default_rng(0).exponential(size=5000)
    >>> bool(np.exp(-20) < tail_bound(draws, [20.0], 0.001)[0] < 1e-5)
    True
    """
    sample, wanted = np.sort(np.asarray(values, float)), np.asarray(limits, float)
    bound = np.ones(wanted.shape)
    if not len(sample):
        return bound
    above = len(sample) - np.searchsorted(sample, THRESHOLDS)
    heights = rate_bound(above, len(sample), risk / len(THRESHOLDS))
    for place, threshold in enumerate(THRESHOLDS):
        allowed = heights[place] ** (np.array(THRESHOLDS[place + 1 :]) / threshold)
        if (stats.binom.sf(above[place + 1 :] - 1, len(sample), allowed) < SURPRISE / len(THRESHOLDS)).any():
            continue
        reach = wanted >= threshold
        bound[reach] = np.minimum(bound[reach], heights[place] ** (wanted[reach] / threshold))
    return bound
