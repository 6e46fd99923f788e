"""Base class of coverage criteria, which order inputs by the sections of neurons that they cover."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, final

import numpy as np
from torch import Tensor

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models.read_points import ALL, ReadPoint, Units
from mutiny.verbs.select.base import BOTH, Order, Scores, Selector, as_scores
from mutiny.verbs.select.coverage.greedy import completed, gainful, total
from mutiny.verbs.select.coverage.profile import Profile
from mutiny.verbs.select.evidence import Evidence

LARGEST = 8 * 2**30
"""Largest size, in bytes, of the sections that all inputs cover."""


@dataclass(frozen=True, kw_only=True)
class Criterion(Selector):
    """A coverage criterion. Every neuron has sections, and an input covers at most one section of each neuron.

    Subclasses define `sections` and `codes`.

    Args:
        order: ``additional``: repeatedly the input that covers most sections not covered yet, until none adds any, then
            the rest by how much each covers alone; ``total``: all by how much each covers alone.
        layers: Layers to read; every layer by default.
        units: What counts as a neuron: ``neuron`` is the mean over the pixels of a channel or the steps of a sequence,
            ``unit`` is every single number. The default depends on the definition and is mostly ``neuron``.
    """

    tasks: ClassVar[tuple[type, ...]] = BOTH

    order: Literal["additional", "total"] = "additional"
    layers: tuple[str, ...] | None = None
    units: Units | None = None

    def __post_init__(self) -> None:
        """Checks the parameters."""
        self._one_of("order", ("additional", "total"))
        if self.units is not None:
            self._one_of("units", ("unit", "neuron"))

    @property
    @abstractmethod
    def sections(self) -> int:
        """Number of sections of each neuron."""

    @abstractmethod
    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """Yields, for batches of the pool, the covered section of each neuron or -1, ``(rows, neurons)``."""

    @property
    def counted(self) -> Units:
        """What counts as a neuron."""
        return self.units or "neuron"

    @final
    def score(self, evidence: Evidence) -> Scores:
        """Scores that result in the order of additional coverage, or the number of covered sections."""
        points = evidence.read_points(self.code, ALL, self.counted, own=self.layers)
        if self.order == "total":
            return np.concatenate([total(batch.cpu().numpy()) for batch in self.codes(evidence, points)]).astype(float)
        shuffled = evidence.rng(self.code).permutation(
            evidence.size
        )  # so that ties do not follow the order of the pool
        codes = self._gathered(evidence, points, np.argsort(shuffled))
        chosen = gainful(codes, self.sections)
        if len(chosen):
            evidence.note(
                f"{self.code}: {len(chosen)} of {evidence.size} inputs cover all that the pool covers; the rest "
                f"follows by how much each covers alone"
            )
        else:
            evidence.note(f"{self.code}: no input covers anything, so the order is random")
        return as_scores(shuffled[completed(chosen, total(codes))], evidence.size)

    def _gathered(self, evidence: Evidence, points: Sequence[ReadPoint], rows: Order) -> Profile:
        """All codes, ``(n, neurons)``; input i is in row ``rows[i]``."""
        neurons = sum(point.count(self.counted) for point in points)
        needed = neurons * (evidence.size * (2 if evidence.size <= 2**16 else 4) + 16 * self.sections)
        if needed > LARGEST:
            fix = "units=neuron or fewer layers need" if self.counted == "unit" else "fewer layers need"
            raise NotApplicable(f"it would take {needed / 2**30:.0f} GB for {neurons} {self.counted}s; {fix} less")
        profile, filled = Profile(evidence.size, neurons, self.sections), 0
        for batch in self.codes(evidence, points):
            profile.put(rows[filled : filled + len(batch)], batch.cpu().numpy())
            filled += len(batch)
        return profile

    def _additional_only(self, reason: str) -> None:
        """Raises `BadInput` with a reason if the order is ``total``."""
        if self.order == "total":
            raise BadInput(f"{self.code} order", "'total'", "additional", reason)
