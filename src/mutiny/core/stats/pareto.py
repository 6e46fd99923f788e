"""Pareto front of points with two objectives."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput


def pareto_front(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Indices of the points that no other point dominates: at least as large in both values and larger in one.

    Equal points all belong to the front. The time is that of sorting, not of comparing all pairs.

    Args:
        first: First values, ``(n,)``.
        second: Second values, ``(n,)``.

    Returns:
        Indices in increasing order, ``(m,)``.

    >>> pareto_front([3, 1, 2, 2], [1, 3, 2, 1]).tolist()
    [0, 1, 2]
    """
    a, b = np.asarray(first, float), np.asarray(second, float)
    if a.shape != b.shape or a.ndim != 1:
        raise BadInput("first, second", f"shapes {a.shape} and {b.shape}", "two arrays of one length")
    if np.isnan(a).any() or np.isnan(b).any():
        raise BadInput("first, second", "NaN", "numbers")
    if not len(a):
        return np.empty(0, np.int64)
    order = np.lexsort((-b, -a))
    x, y = a[order], b[order]
    group = np.concatenate([[0], np.cumsum(x[1:] != x[:-1])])  # of equal first values; the first of each is its best
    tops = y[np.searchsorted(group, np.arange(group[-1] + 1))]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(tops)[:-1]])  # the best among larger first values
    on_front = (y == tops[group]) & (y > before[group])
    return np.sort(order[on_front])
