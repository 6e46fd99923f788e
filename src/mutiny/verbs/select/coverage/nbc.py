"""Neuron boundary coverage (NBC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.models.read_points import ReadPoint
from mutiny.verbs.select.coverage.criterion import Criterion
from mutiny.verbs.select.coverage.ranges import NeuronRanges, training_ranges
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Nbc(Criterion):
    """An input covers the lower or upper corner of a neuron if the neuron leaves its range on the training data.

    Args:
        margin: Distance from the range, in standard deviations of the neuron on the training data.
        order: Order of inputs, see `Criterion`; also for ``layers`` and ``units``.
    """

    code: ClassVar[str] = "nbc"
    title: ClassVar[str] = "neuron boundary coverage"
    source: ClassVar[str] = "Ma et al., DeepGauge, ASE 2018"

    margin: float = 0.0

    def __post_init__(self) -> None:
        """Checks the parameters."""
        super().__post_init__()
        self._within("margin", 0, 1e6)

    @property
    def sections(self) -> int:
        """Two sections: below and above the range."""
        return 2

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """0 below the range, 1 above it."""
        ranges = training_ranges(evidence, points, self.counted)
        for batch in evidence.read("pool", points, self.counted):
            yield corner_of(batch.features.cpu(), ranges, self.margin)


def corner_of(values: Tensor, ranges: NeuronRanges, margin: float) -> Tensor:
    """0 below the range by more than ``margin`` standard deviations, 1 above it, -1 elsewhere, ``(rows, neurons)``.

    >>> from mutiny.verbs.select.coverage.ranges import ranges_of
    >>> ranges = ranges_of([torch.tensor([[0.0], [8.0]])])  # a standard deviation of 4
    >>> corner_of(torch.tensor([[-1.0], [0.0], [9.0], [13.0]]), ranges, margin=0).flatten().tolist()
    [0, -1, 1, 1]
    >>> corner_of(torch.tensor([[-1.0], [0.0], [9.0], [13.0]]), ranges, margin=1).flatten().tolist()
    [-1, -1, -1, 1]
    """
    below, above = values < ranges.minimum - margin * ranges.sd, values > ranges.maximum + margin * ranges.sd
    return below.to(torch.int8) + 2 * above.to(torch.int8) - 1
