"""Base class of surprise methods: traces of training data and pool, grouped by predicted class, and coverage."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.read_points import HIDDEN, ReadPoint, Units
from mutiny.subjects.tasks import Classification
from mutiny.verbs.select.base import Scores, Selector, as_scores
from mutiny.verbs.select.evidence import Evidence, Split
from mutiny.verbs.select.surprise.coverage import Rest, coverage_order
from mutiny.verbs.select.surprise.rows import Ints, Rows
from mutiny.verbs.select.traces import Traces

MEMBERS = 2
"""Smallest number of training inputs in a group that has a variance."""


@dataclass(frozen=True)
class Grouped:
    """Traces of one split, ``(n, d)``, and the group of each input, ``(n,)``, -1 for none."""

    traces: Traces
    groups: Ints

    def members(self, group: int) -> Ints:
        """Positions of the inputs in a group."""
        return np.flatnonzero(self.groups == group)

    def rows(self, group: int) -> Rows:
        """Traces of the inputs in a group."""
        return Rows(self.traces, self.members(group))

    def sizes(self, least: int = 1) -> dict[int, int]:
        """Number of members of each group that has at least ``least`` members."""
        counts = np.bincount(self.groups[self.groups >= 0])
        return {group: count for group, count in enumerate(counts.tolist()) if count >= max(1, least)}


@dataclass(frozen=True)
class Surprise(Selector):
    """Distance between an input's activations and those of training inputs with the same prediction.

    Subclasses define `surprise`. Inputs that it cannot score come first, with a note: inputs whose predicted class is
    rare in the training data, and inputs with activations that are not finite. They get the largest score plus one.

    Args:
        layers: Layers to read; the input of the output layer by default.
        units: ``neuron``: one number per channel, the mean over its pixels; ``unit``: every number.
        by: ``score``: the most surprising inputs first; ``coverage``: first one input of each level of surprise.
        buckets: Number of levels of surprise, for ``by=coverage``.
        upper: Upper end of the levels; the last level includes all above. ``None``: largest surprise of the pool.
        rest: Order of the other inputs, for ``by=coverage``: ``random`` or ``score``.
    """

    layers: tuple[str, ...] | None = None
    units: Units = "neuron"
    by: Literal["score", "coverage"] = "score"
    buckets: int = 1000
    upper: float | None = None
    rest: Rest = "random"

    def __post_init__(self) -> None:
        self._one_of("units", ("neuron", "unit"))
        self._one_of("by", ("score", "coverage"))
        self._one_of("rest", ("random", "score"))
        self._within("buckets", 1, 10**6)
        if self.upper is not None:
            self._within("upper", -1e100, 1e100)

    @abstractmethod
    def surprise(self, train: Grouped, pool: Grouped, evidence: Evidence) -> Scores:
        """Surprise of each input of the pool, ``(n,)``; may be infinite, and NaN for inputs that cannot be scored."""

    def by_class(self) -> bool:
        """Whether classes are separate groups; regression always has one group."""
        return True

    @final
    def score(self, evidence: Evidence) -> Scores:
        """Surprise, or scores that result in the order of surprise coverage."""
        points = evidence.read_points(self.code, HIDDEN, self.units, self.layers)
        train, pool = (self._grouped(evidence, split, points) for split in ("train", "pool"))
        if not train.sizes():
            raise NotApplicable("no training input has finite activations")
        surprises = self._completed(self.surprise(train, pool, evidence), pool, evidence)
        if self.by == "score":
            return surprises
        upper = float(surprises.max()) if self.upper is None else self.upper
        order, levels = coverage_order(surprises, upper, self.buckets, self.rest, evidence.rng(self.code, "coverage"))
        above = int((surprises > upper).sum())
        evidence.note(
            f"{self.code} finds {levels} of {self.buckets} levels of surprise between {surprises.min():.4g} and "
            f"{upper:.4g}" + (f"; {above} of {len(surprises)} inputs are above" if above else "")
        )
        return as_scores(order, evidence.size)

    def _apart(self, evidence: Evidence) -> bool:
        return self.by_class() and isinstance(evidence.task, Classification)

    def _grouped(self, evidence: Evidence, split: Split, points: tuple[ReadPoint, ...]) -> Grouped:
        traces = evidence.traces(split, points, self.units)
        groups = evidence.predicted(split).copy() if self._apart(evidence) else np.zeros(len(traces), dtype=np.int64)
        finite = np.concatenate([finite_rows(chunk) for chunk in traces.chunks()])
        groups[~finite] = -1
        if not finite.all():
            consequence = "they are scored highest" if split == "pool" else "they are left out"
            evidence.note(
                f"{self.code}: {int((~finite).sum())} inputs of the {split} have activations that are not finite; "
                f"{consequence}"
            )
        return Grouped(traces, groups)

    def _completed(self, surprises: Scores, pool: Grouped, evidence: Evidence) -> Scores:
        """Finite surprises: missing and infinite ones become larger than all others."""
        judged = np.isfinite(surprises)
        unknown = ~judged & (pool.groups >= 0)
        if unknown.any():
            groups = ", ".join(str(int(group)) for group in np.unique(pool.groups[unknown])[:10])
            of = f" (of the predicted classes {groups})" if self._apart(evidence) else ""
            evidence.note(
                f"{self.code}: {int(unknown.sum())} inputs{of} cannot be compared with the training data, "
                f"{self._why_not}; they are scored highest"
            )
        top = float(surprises[judged].max(initial=-np.inf))
        above = max(top + 1, float(np.nextafter(top, np.inf))) if judged.any() else 1.0
        return np.where(judged, surprises, above)

    @property
    def _why_not(self) -> str:
        return "which has too few or only equal inputs of that class"


def finite_rows(chunk: Tensor) -> npt.NDArray[np.bool_]:
    """Whether each row of ``(n, d)`` has finite numbers only, ``(n,)``."""
    if torch.stack(chunk.aminmax()).isfinite().all():  # the common case, in one pass
        return np.ones(len(chunk), dtype=bool)
    return chunk.isfinite().all(dim=1).numpy()


def by_group(train: Grouped, pool: Grouped, judge: Callable[[int, Rows, Rows], Scores | None]) -> Scores:
    """Scores each group of the pool relative to the same group of the training data.

    Args:
        train: Grouped training data.
        pool: Grouped pool.
        judge: Function from a group, its training traces and its pool traces to surprises ``(m,)``, or ``None``.

    Returns:
        Surprises, ``(n,)``; NaN for groups with fewer than two training inputs or for which ``judge`` returns ``None``.
    """
    scores = np.full(len(pool.groups), np.nan)
    known = train.sizes(MEMBERS)
    for group in pool.sizes():
        if group in known:
            surprises = judge(group, train.rows(group), pool.rows(group))
            if surprises is not None:
                scores[pool.groups == group] = surprises
    return scores


def note_null_directions(code: str, fewest: dict[int, int], columns: int, evidence: Evidence) -> None:
    """Adds a note if some groups do not vary in all directions.

    Args:
        code: Code of the method.
        fewest: Number of directions in which each group varies.
        columns: Number of all directions.
        evidence: Evidence that gets the note.
    """
    short = [directions for directions in fewest.values() if directions < columns]
    if short:
        evidence.note(
            f"{code}: the training activations of {len(short)} of {len(fewest)} groups vary in fewer directions than "
            f"there are units (as few as {min(short)} of {columns}); differences in the others are ignored, so inputs "
            f"of small groups are less surprising. shrink=0.1 counts all directions"
        )
