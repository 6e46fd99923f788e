"""Clusters by k-means, as many as separate the points best."""

from __future__ import annotations

import warnings

import numpy as np

from mutiny.verbs.select.surprise.nearest import nearest
from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows

STARTS = 10
"""Runs of k-means from different centers; the best counts."""


def best_clusters(points: Floats, counts: tuple[int, ...], seed: int) -> Floats:
    """Centers ``(k, d)`` of the clusters whose silhouette is best among the ``counts``; one center if none is possible.

    >>> centers = best_clusters(np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.2]]), (2, 3), seed=0)
    >>> sorted(centers.round(3).ravel().tolist())
    [0.1, 5.1, 9.1]
    """
    from sklearn.cluster import KMeans  # nothing else needs it, and it takes a second
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import silhouette_score

    best = -np.inf
    centers: Floats = points.mean(axis=0, keepdims=True)
    distinct = len(np.unique(points, axis=0))
    for count in counts:
        if not 2 <= count <= min(distinct, len(points) - 1):
            continue
        means = KMeans(count, n_init=STARTS, random_state=seed)
        with warnings.catch_warnings():  # points that are equal up to rounding may give fewer clusters
            warnings.simplefilter("ignore", ConvergenceWarning)
            labels = means.fit_predict(points)
        score = silhouette_score(points, labels) if len(np.unique(labels)) > 1 else -np.inf
        if score > best:
            best, centers = score, means.cluster_centers_
    return centers


def assigned(rows: Rows, centers: Floats) -> Ints:
    """The nearest center of each row, ``(n,)``."""
    return nearest(rows, Rows(centers))[1]
