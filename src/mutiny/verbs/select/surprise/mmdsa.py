"""Multimodal Mahalanobis distance based surprise adequacy (MMDSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.claims import own_warnings
from mutiny.verbs.select.base import BOTH, Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Grouped, Surprise
from mutiny.verbs.select.surprise.mdsa import mahalanobis_by_group
from mutiny.verbs.select.surprise.nearest import nearest
from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows

SAMPLE, SAMPLE_NUMBERS = 5000, 2**22
"""Largest number of training inputs to cluster, and largest number of their activations."""
STARTS = 10
"""Runs of k-means from different centers, of which the best is used."""


@dataclass(frozen=True)
class Mmdsa(Surprise):
    """Mahalanobis distance between an input's activations and the mean of the nearest cluster of training inputs.

    Clusters come from k-means on a random part of the training data (5,000 inputs at most), with the number of clusters
    that has the best silhouette. Every input belongs to the cluster with the nearest center, regardless of its
    prediction.

    Args:
        clusters: Largest number of clusters; all numbers from 2 are tried.
        sample: Share of the training data to cluster.
        per_class: Cluster each predicted class separately.
        shrink: Share of each covariance to replace by a sphere of the same total variance; 0 in the definition.
    """

    code: ClassVar[str] = "mmdsa"
    title: ClassVar[str] = "multimodal Mahalanobis surprise"
    source: ClassVar[str] = "Kim, Yoo, Multimodal Surprise Adequacy, AST 2021"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    clusters: int = 5
    sample: float = 0.3
    per_class: bool = False
    shrink: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("clusters", 2, 1000)
        self._within("sample", 1e-9, 1)
        self._within("shrink", 0, 1)

    def by_class(self) -> bool:
        """Whether clusters are separate for each class."""
        return self.per_class

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``sqrt((a - m)' C^-1 (a - m))`` with mean and covariance of the input's cluster."""
        seen, new = np.full(len(train.groups), -1), np.full(len(pool.groups), -1)
        counts = []
        for group in train.sizes():
            rows, rng = train.rows(group), evidence.rng(self.code, group)
            most = min(SAMPLE, max(1, SAMPLE_NUMBERS // rows.shape[1]))
            points = rows.sample(min(most, max(2, int(self.sample * len(rows)))), rng).held()
            centers = best_clusters(points, tuple(range(2, self.clusters + 1)), int(rng.integers(2**31)))
            seen[train.groups == group] = assigned(rows, centers) + group * self.clusters
            new[pool.groups == group] = assigned(pool.rows(group), centers) + group * self.clusters
            counts.append(len(centers))
        evidence.note(f"{self.code} finds {' + '.join(map(str, counts[:20]))} clusters in the training data")
        clustered = Grouped(train.traces, seen), Grouped(pool.traces, new)
        return mahalanobis_by_group(self.code, *clustered, self.shrink, evidence)


def best_clusters(points: Floats, counts: tuple[int, ...], seed: int) -> Floats:
    """Centers ``(k, d)`` of the k-means clusters with the best silhouette; one center if no count is possible.

    >>> centers = best_clusters(np.array([[0.0], [0.2], [5.0], [5.2], [9.0], [9.2]]), (2, 3), seed=0)
    >>> sorted(centers.round(3).ravel().tolist())
    [0.1, 5.1, 9.1]
    """
    from sklearn.cluster import KMeans  # slow to import
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import silhouette_score

    best = -np.inf
    centers: Floats = points.mean(axis=0, keepdims=True)
    distinct = len(np.unique(points, axis=0))
    for count in counts:
        if not 2 <= count <= min(distinct, len(points) - 1):
            continue
        means = KMeans(count, n_init=STARTS, random_state=seed)
        with own_warnings("ignore", ConvergenceWarning):  # points equal up to rounding may give fewer clusters
            labels = means.fit_predict(points)
        score = silhouette_score(points, labels) if len(np.unique(labels)) > 1 else -np.inf
        if score > best:
            best, centers = score, means.cluster_centers_
    return centers


def assigned(rows: Rows, centers: Floats) -> Ints:
    """The nearest center of each row, ``(n,)``."""
    return nearest(rows, Rows(centers))[1]
