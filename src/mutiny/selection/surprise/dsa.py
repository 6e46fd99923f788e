"""Distance-based surprise adequacy (DSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from mutiny.errors import NotApplicable
from mutiny.selection.base import Scores
from mutiny.selection.evidence import Evidence
from mutiny.selection.surprise.base import Grouped, Surprise
from mutiny.selection.surprise.nearest import nearest
from mutiny.selection.surprise.rows import Floats, Rows


@dataclass(frozen=True)
class Dsa(Surprise):
    """How far the nearest training input of the same predicted class is, compared with how near other classes are.

    ``a / b``: ``a`` is the distance of the activations to those of the nearest training input with the same prediction,
    ``b`` that from this training input to the nearest one with another prediction. An input that equals a training
    input scores 0; one whose ``b`` is 0, since training inputs of two classes coincide there, is scored highest.

    Args:
        variant: ``from-train``, the definition; ``from-input`` measures ``b`` from the input itself, as some do.
        subsample: share of the training data that is compared with, drawn at random.
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
            raise NotApplicable("it compares classes, and the training data is predicted to be of one class only")
        scores = np.full(len(pool.groups), np.nan)
        for group in pool.sizes():
            if group not in known:
                continue
            own, new = train.rows(group), pool.rows(group)
            others = Rows(train.traces, np.flatnonzero((train.groups >= 0) & (train.groups != group)))
            a, place = nearest(new, own)
            if self.variant == "from-input":
                b, _ = nearest(new, others)
            else:  # it depends on the training input only, so each that is nearest to any is asked once
                hits, which = np.unique(place, return_inverse=True)
                b = nearest(own.take(hits), others)[0][which]
            scores[pool.groups == group] = ratio(a, b)
        return scores

    @property
    def _why_not(self) -> str:
        return "which shows no input of that class, or two classes at one point"

    def _thinned(self, train: Grouped, evidence: Evidence) -> Grouped:
        if self.subsample == 1:
            return train
        size = len(train.groups)
        kept = evidence.rng(self.code, "subsample").choice(size, max(1, int(self.subsample * size)), replace=False)
        groups = np.full(size, -1)
        groups[kept] = train.groups[kept]
        return Grouped(train.traces, groups)


def ratio(a: Floats, b: Floats) -> Floats:
    """``a / b``, where 0 over anything is 0, and anything else over 0 is infinite.

    >>> ratio(np.array([1.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0])).tolist()
    [0.5, 0.0, inf]
    """
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return np.where(a == 0, 0.0, a / b)
