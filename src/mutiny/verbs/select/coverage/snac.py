"""Strong neuron activation coverage (SNAC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.models.read_points import ReadPoint
from mutiny.verbs.select.coverage.nbc import Nbc
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Snac(Nbc):
    """An input covers a neuron if the neuron is above its range on the training data: the upper corners of `Nbc`.

    Args:
        margin: Distance from the range, in standard deviations of the neuron on the training data.
        order: Order of inputs, see `Criterion`; also for ``layers`` and ``units``.
    """

    code: ClassVar[str] = "snac"
    title: ClassVar[str] = "strong neuron activation coverage"

    @property
    def sections(self) -> int:
        """One section: above the range."""
        return 1

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """0 above the range."""
        for corners in super().codes(evidence, points):
            yield (corners == 1).to(torch.int8) - 1
