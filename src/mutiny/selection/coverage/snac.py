"""Strong neuron activation coverage (SNAC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.models.places import Place
from mutiny.selection.coverage.criterion import Criterion
from mutiny.selection.coverage.nbc import corner_of
from mutiny.selection.coverage.ranges import training_ranges
from mutiny.selection.evidence import Evidence


@dataclass(frozen=True)
class Snac(Criterion):
    """An input covers a neuron that it drives above its range on the training data.

    Args:
        margin: how far above, in standard deviations of the neuron on the training data.
        order: see `Criterion`, as ``layers`` and ``units``.
    """

    code: ClassVar[str] = "snac"
    title: ClassVar[str] = "strong neuron activation coverage"
    source: ClassVar[str] = "Ma et al., DeepGauge, ASE 2018"

    margin: float = 0.0

    def __post_init__(self) -> None:
        """Checks the parameters."""
        super().__post_init__()
        self._within("margin", 0, 1e6)

    @property
    def sections(self) -> int:
        """Above."""
        return 1

    def codes(self, evidence: Evidence, places: Sequence[Place]) -> Iterator[Tensor]:
        """0 above the range."""
        ranges = training_ranges(evidence, places, self.counted)
        for one in evidence.read("pool", places, self.counted):
            yield (corner_of(one.features.cpu(), ranges, self.margin) == 1).to(torch.int8) - 1
