"""Likelihood-based surprise adequacy (LSA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.verbs.select.base import BOTH, Scores
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.surprise.base import MEMBERS, Grouped, Surprise, by_group, note_null_directions
from mutiny.verbs.select.surprise.density import log_density
from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows, variances
from mutiny.verbs.select.surprise.whitening import whitening


@dataclass(frozen=True)
class Lsa(Surprise):
    """Negative log density of an input's activations among those of training inputs with the same prediction.

    The density is a Gaussian kernel estimate per predicted class, with Scott's bandwidth and the full covariance. Units
    with little variance in some class are dropped for all classes, so that their densities have the same dimensions; if
    that drops every unit, each class drops its own, with a note. If a covariance is singular, the density is that
    within the directions that vary. Regression has one group.

    Args:
        variance: Smallest variance, in every class, of the units to keep.
        max_features: Largest number of units per class, those that vary most; all by default.
        shrink: Share of each class's covariance to replace by a sphere of the same total variance. 0 is the definition;
            0.1 is better for classes with few more inputs than units.
    """

    code: ClassVar[str] = "lsa"
    title: ClassVar[str] = "likelihood-based surprise"
    source: ClassVar[str] = "Kim, Feldt, Yoo, Surprise Adequacy, ICSE 2019"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    upper: float | None = 2000.0
    variance: float = 1e-5
    max_features: int | None = None
    shrink: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._within("variance", 0, 1e100)
        self._within("shrink", 0, 1)
        if self.max_features is not None:
            self._within("max_features", 1, 10**9)

    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """``-log density`` of each input in its class."""
        spreads = {group: variances(train.rows(group)) for group in train.sizes(MEMBERS)}
        kept = columns_kept(spreads, self.variance, self.max_features)
        self._note_dropped(kept, train.traces.shape[1], evidence)
        directions: dict[int, int] = {}

        def judge(group: int, seen: Rows, new: Rows) -> Scores | None:
            if not len(kept[group]):
                return None
            seen, new = seen.only(kept[group]).kept(), new.only(kept[group])
            white = whitening(seen, ddof=1, shrink=self.shrink)
            directions[group] = white.directions
            return -log_density(seen, new, white) if white.directions else None

        scores = by_group(train, pool, judge)
        note_null_directions(self.code, directions, max(map(len, kept.values()), default=0), evidence)
        return scores

    def _note_dropped(self, kept: dict[int, Ints], units: int, evidence: Evidence) -> None:
        fewest, most = min(map(len, kept.values()), default=units), max(map(len, kept.values()), default=units)
        if fewest < most:
            evidence.note(
                f"{self.code}: every unit has little variance in some class, so each class drops its own units and "
                f"keeps {fewest} to {most} of {units}; densities over different units are hardly comparable"
            )
        elif most < units:
            evidence.note(f"{self.code} keeps {most} of {units} units: the others vary too little")


def columns_kept(spreads: dict[int, Floats], variance: float, most: int | None) -> dict[int, Ints]:
    """Columns that each group keeps: those that vary in every group, or in the group itself if there are none.

    Args:
        spreads: Variances of all columns in each group, ``(d,)`` each.
        variance: Smallest variance that counts as varying.
        most: Largest number of columns to keep, those that vary most in the group; ``None`` keeps all.

    >>> kept = columns_kept({0: np.array([1.0, 0.0, 2.0]), 1: np.array([3.0, 4.0, 1.0])}, 1e-5, None)
    >>> kept[0].tolist(), kept[1].tolist()
    ([0, 2], [0, 2])
    """
    varies = {group: spread >= variance for group, spread in spreads.items()}
    everywhere = np.logical_and.reduce([*varies.values()]) if varies else np.empty(0, dtype=bool)
    kept = {}
    for group, spread in spreads.items():
        columns = np.flatnonzero(everywhere if everywhere.any() else varies[group])
        if most is not None:
            columns = np.sort(columns[np.argsort(-spread[columns], kind="stable")[:most]])
        kept[group] = columns
    return kept
