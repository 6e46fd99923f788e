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
    """Mahalanobis distance between an input's activations and the mean of training inputs with the same prediction.

    Some definitions use the squared distance, which gives the same order. The pseudo-inverse is used if a covariance is
    singular. Regression has one group.

    Args:
        per_class: Mean and covariance of each predicted class, instead of all training data.
        shrink: Share of each covariance to replace by a sphere of the same total variance. 0 is the definition; 0.1 is
            better for classes with few more inputs than units.
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
        """Whether mean and covariance are those of each class."""
        return self.per_class

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``sqrt((a - m)' C^-1 (a - m))``."""
        return mahalanobis_by_group(self.code, train, pool, self.shrink, evidence)


def mahalanobis(points: Rows, white: Whitening) -> Scores:
    """Distance between each point and the mean of the whitened points, ``(m,)``.

    >>> mahalanobis(Rows(np.array([[4.0]])), whitening(Rows(np.array([[-1.0], [1.0], [-1.0], [1.0]])))).tolist()
    [4.0]
    """
    return np.concatenate([np.linalg.norm(white(block), axis=1) for block in points])


def mahalanobis_by_group(code: str, train: Grouped, pool: Grouped, shrink: float, evidence: Evidence) -> Scores:
    """Distances between the pool's inputs and their group of training inputs, ``(n,)``; NaN if it does not vary."""
    directions: dict[int, int] = {}

    def judge(group: int, seen: Rows, new: Rows) -> Scores | None:
        white = whitening(seen, shrink=shrink)
        directions[group] = white.directions
        return mahalanobis(new, white) if white.directions else None

    scores = by_group(train, pool, judge)
    note_null_directions(code, directions, train.traces.shape[1], evidence)
    return scores
