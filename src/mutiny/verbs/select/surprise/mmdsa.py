"""Multimodal Mahalanobis distance based surprise adequacy (MMDSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.verbs.select.base import BOTH, Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Grouped, Surprise
from mutiny.verbs.select.surprise.clusters import assigned, best_clusters
from mutiny.verbs.select.surprise.mdsa import mahalanobis_by_group

SAMPLE, SAMPLE_NUMBERS = 5000, 2**22
"""Training inputs that clusters are found in, at most, and fewer where there are many units."""


@dataclass(frozen=True)
class Mmdsa(Surprise):
    """Mahalanobis distance of an input's activations to the mean of their cluster of training inputs.

    K-means on a random part of the training data (5,000 inputs at most), with the number of clusters whose silhouette
    is best there; then every input belongs to the nearest center, whatever its prediction.

    Args:
        clusters: the largest number of clusters; from 2 on all are tried.
        sample: share of the training data that clusters are found in.
        per_class: clusters within each predicted class.
        shrink: share of each covariance that is replaced by a sphere of the same total variance; 0 is the definition.
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
        """As the user says."""
        return self.per_class

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``sqrt((a - m)' C^-1 (a - m))`` with mean and covariance of the input's cluster."""
        seen, new = np.full(len(train.groups), -1), np.full(len(pool.groups), -1)
        found = []
        for group in train.sizes():
            rows, rng = train.rows(group), evidence.rng(self.code, group)
            most = min(SAMPLE, max(1, SAMPLE_NUMBERS // rows.shape[1]))
            points = rows.sample(min(most, max(2, int(self.sample * len(rows)))), rng).held()
            centers = best_clusters(points, tuple(range(2, self.clusters + 1)), int(rng.integers(2**31)))
            seen[train.groups == group] = assigned(rows, centers) + group * self.clusters
            new[pool.groups == group] = assigned(pool.rows(group), centers) + group * self.clusters
            found.append(len(centers))
        evidence.note(f"{self.code} finds {' + '.join(map(str, found[:20]))} clusters in the training data")
        inside = Grouped(train.traces, seen), Grouped(pool.traces, new)
        return mahalanobis_by_group(self.code, *inside, self.shrink, evidence)
