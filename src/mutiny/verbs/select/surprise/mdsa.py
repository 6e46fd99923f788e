"""Mahalanobis distance based surprise adequacy (MDSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.verbs.select.base import BOTH, Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Grouped, Surprise, by_group, note_null_directions
from mutiny.verbs.select.surprise.rows import Rows
from mutiny.verbs.select.surprise.whitening import Whitening, whitening


@dataclass(frozen=True)
class Mdsa(Surprise):
    """Mahalanobis distance of an input's activations to the mean of training inputs with the same prediction.

    Some write the squared distance: the order is the same. Where a covariance is singular, its pseudo-inverse stands
    in. In regression there is one group.

    Args:
        per_class: mean and covariance of each predicted class; if not, of all training data.
        shrink: share of each covariance that is replaced by a sphere of the same total variance. 0 is the definition;
            classes with hardly more inputs than units are better served by 0.1.
    """

    code: ClassVar[str] = "mdsa"
    title: ClassVar[str] = "Mahalanobis distance surprise"
    source: ClassVar[str] = "Kim, Feldt, Yoo, Evaluating Surprise Adequacy, TOSEM 2023"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    per_class: bool = True
    shrink: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("shrink", 0, 1)

    def by_class(self) -> bool:
        """As the user says."""
        return self.per_class

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``sqrt((a - m)' C^-1 (a - m))``."""
        return mahalanobis_by_group(self.code, train, pool, self.shrink, evidence)


def mahalanobis(points: Rows, white: Whitening) -> Scores:
    """Distance of each point to the cloud that was whitened, ``(m,)``.

    >>> mahalanobis(Rows(np.array([[4.0]])), whitening(Rows(np.array([[-1.0], [1.0], [-1.0], [1.0]])))).tolist()
    [4.0]
    """
    return np.concatenate([np.linalg.norm(white(block), axis=1) for block in points])


def mahalanobis_by_group(code: str, train: Grouped, pool: Grouped, shrink: float, evidence: Evidence) -> Scores:
    """Distances of the pool's inputs to their own group of training inputs, ``(n,)``; NaN where it has no shape."""
    directions: dict[int, int] = {}

    def judge(group: int, seen: Rows, new: Rows) -> Scores | None:
        white = whitening(seen, shrink=shrink)
        directions[group] = white.directions
        return mahalanobis(new, white) if white.directions else None

    scores = by_group(train, pool, judge)
    note_null_directions(code, directions, train.traces.shape[1], evidence)
    return scores
