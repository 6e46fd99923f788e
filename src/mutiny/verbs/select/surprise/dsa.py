"""Distance-based surprise adequacy (DSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.verbs.select.base import Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import Grouped, Surprise
from mutiny.verbs.select.surprise.nearest import nearest
from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows


@dataclass(frozen=True)
class Dsa(Surprise):
    """Distance to the nearest training input of the same predicted class, relative to the distance to other classes.

    ``a / b``: ``a`` is the distance of the activations to those of the nearest training input with the same prediction,
    ``b`` the distance from this training input to the nearest one with another prediction. Inputs that equal a training
    input score 0. Inputs with ``b = 0``, where training inputs of two classes coincide, are scored highest.

    Args:
        variant: ``from-train``, the definition; ``from-input`` measures ``b`` from the input itself, as some
            implementations do.
        subsample: Share of the training data to compare with, drawn at random.
    """

    code: ClassVar[str] = "dsa"
    title: ClassVar[str] = "distance-based surprise"
    source: ClassVar[str] = "Kim, Feldt, Yoo, Surprise Adequacy, ICSE 2019"

    upper: float | None = 2.0
    variant: Literal["from-train", "from-input"] = "from-train"
    subsample: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._one_of("variant", ("from-train", "from-input"))
        self._within("subsample", 1e-9, 1)

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``a / b`` of each input."""
        train = self._thinned(train, evidence)
        known = train.sizes()
        if len(known) < 2:
            raise NotApplicable("it compares classes, and the model predicts one class for all training data")
        judged = np.flatnonzero(np.isin(pool.groups, [*known]))
        near, hits = np.empty(len(pool.groups)), np.zeros(len(pool.groups), dtype=np.int64)
        for group in known.keys() & pool.sizes().keys():
            members = pool.members(group)
            near[members], place = nearest(pool.rows(group), train.rows(group))
            hits[members] = train.members(group)[place]
        if self.variant == "from-input":
            other = to_other_groups(pool, judged, train)
        else:  # depends on the nearest training input only, so it is computed once for each of them
            distinct, which = np.unique(hits[judged], return_inverse=True)
            other = to_other_groups(train, distinct, train)[which]
        scores = np.full(len(pool.groups), np.nan)
        scores[judged] = ratio(near[judged], other)
        return scores

    @property
    def _why_not(self) -> str:
        return "which has no input of that class, or inputs of two classes at one point"

    def _thinned(self, train: Grouped, evidence: Evidence) -> Grouped:
        if self.subsample == 1:
            return train
        size = len(train.groups)
        kept = evidence.rng(self.code, "subsample").choice(size, max(1, int(self.subsample * size)), replace=False)
        groups = np.full(size, -1)
        groups[kept] = train.groups[kept]
        return Grouped(train.traces, groups)


def to_other_groups(points: Grouped, which: Ints, train: Grouped) -> Floats:
    """Distance from some points to the nearest training input of another group, ``(len(which),)``."""
    groups, best = points.groups[which], np.full(len(which), np.inf)
    for group in train.sizes():
        others = np.flatnonzero(groups != group)
        if len(others):
            best[others], _ = nearest(Rows(points.traces, which[others]), train.rows(group), within=best[others])
    return best


def ratio(a: Floats, b: Floats) -> Floats:
    """``a / b``, where ``0 / b`` is 0 for all ``b``, and ``a / 0`` is infinite otherwise.

    >>> ratio(np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0])).tolist()
    [0.5, 0.0, inf]
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(a == 0, 0.0, a / b)
