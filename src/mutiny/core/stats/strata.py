"""Comparison of a group with all others within strata, such as faults of equal cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from mutiny.core.errors import BadInput

LARGEST_EXACT = 10_000
"""Largest group for which :func:`stratified_fisher` is exact; the convolution takes about a tenth of a second then."""


def stratified_fisher(
    seen: ArrayLike, size: ArrayLike, others_seen: ArrayLike, others_size: ArrayLike
) -> tuple[float, float]:
    """Fisher's exact test in several strata, one-sided: is less seen of a group than of others in the same strata?

    Given how many are seen of group and others together, the number seen of the group is hypergeometric in each stratum
    if both have the same rate there. The sum over strata has the convolution of these distributions. In contrast to
    binomial distributions with the rates of the others, this allows for the uncertainty of these rates. It is the exact
    conditional test of Cochran, Mantel and Haenszel. Larger groups than ``LARGEST_EXACT`` use its normal approximation.

    Args:
        seen: Number seen of the group in each stratum, ``(strata,)``.
        size: Size of the group in each stratum, ``(strata,)``.
        others_seen: Number seen of all others in each stratum, ``(strata,)``.
        others_size: Number of others in each stratum, ``(strata,)``.

    Returns:
        ``P(sum <= seen)`` and the expected sum, both if group and others have the same rate in each stratum.

    >>> p, expected = stratified_fisher([0, 2], [3, 3], [9, 10], [12, 10])
    >>> round(p, 3), round(expected, 2)
    (0.01, 4.57)
    """
    group, drawn, other, rest = (np.asarray(each, np.int64) for each in (seen, size, others_seen, others_size))
    if not ((group >= 0) & (group <= drawn) & (other >= 0) & (other <= rest)).all():
        raise BadInput("seen", (group.tolist(), other.tolist()), "at least 0 and at most the sizes")
    used = drawn > 0
    drawn, marked, total = drawn[used], (group + other)[used], (drawn + rest)[used]
    share = marked / total
    expected = float((drawn * share).sum())
    if drawn.sum() > LARGEST_EXACT:
        variance = float((drawn * share * (1 - share) * (total - drawn) / np.maximum(1, total - 1)).sum())
        below = int(group.sum()) + 0.5 - expected
        return float(special.ndtr(below / np.sqrt(variance))) if variance > 0 else 1.0, expected
    law = np.ones(1)
    for n, m, of in zip(drawn.tolist(), marked.tolist(), total.tolist(), strict=True):
        law = np.convolve(law, stats.hypergeom.pmf(np.arange(n + 1), of, m, n))
    return float(min(1.0, law[: int(group.sum()) + 1].sum())), expected
