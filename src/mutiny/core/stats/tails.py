"""Bounds on the tail of a distribution, also beyond the largest value seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from mutiny.core.stats.intervals import rate_bound
from mutiny.core.stats.samples import Floats

THRESHOLDS = (2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 10.0, 13.0, 17.0, 22.0, 30.0)
"""Where a tail's height is measured, in units of its own scale."""
SURPRISE = 1e-3
"""Values as large as those seen must be at least so likely, or an extrapolation is not believed."""


def tail_bound(values: ArrayLike, limits: ArrayLike, risk: float) -> Floats:
    """Upper bounds of ``P(value >= limit)`` for limits that may lie far beyond all values seen.

    Assumes that from some threshold on the tail is exponential or lighter (an increasing average failure rate): then
    ``P(v >= t)^(1/t)`` falls with ``t``, and the height of the tail at a threshold t bounds it beyond:
    ``P(v >= limit) <= P(v >= t)^(limit / t)``. The height is itself bounded from the sample, see `rate_bound`. A
    threshold whose extrapolation the sample contradicts at a later one is not used. That catches a tail which is heavy
    where the sample sees it, not one which becomes heavy beyond: whoever relies on the bound checks at random.

    Args:
        values: an independent sample of something that is not negative.
        limits: where the tail is wanted, ``(k,)``.
        risk: probability that the sample misleads.

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
