"""Top-k neuron coverage (TKNC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from mutiny.models.read_points import ReadPoint
from mutiny.verbs.select.coverage.criterion import Criterion
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Tknc(Criterion):
    """An input covers the k most active neurons of each layer.

    Args:
        k: Number of neurons per layer. DeepGauge tries 1, 2 and 3; DeepGini's code has 2.
        order: Only ``additional``.
        layers: Layers to read, see `Criterion`; also for ``units``.
    """

    code: ClassVar[str] = "tknc"
    title: ClassVar[str] = "top-k neuron coverage"
    source: ClassVar[str] = "Ma et al., DeepGauge, ASE 2018"

    k: int = 2

    def __post_init__(self) -> None:
        """Checks the parameters."""
        super().__post_init__()
        self._within("k", 1, 1_000_000)
        self._additional_only("Every input covers k neurons of each layer, so that all totals are equal.")

    @property
    def sections(self) -> int:
        """One section: among the k most active."""
        return 1

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """0 where a neuron is among the k most active."""
        widths = [point.count(self.counted) for point in points]
        for batch in evidence.read("pool", points, self.counted):
            layers = [most_active(layer, self.k) for layer in torch.split(batch.features, widths, 1)]
            yield torch.cat(layers, dim=1).to(torch.int8) - 1


def most_active(values: Tensor, k: int) -> Tensor:
    """Marks the k largest values of each row, ``(rows, neurons)`` bool; the first of equal values.

    `torch.topk` does not specify which of equal values it returns, and inactive neurons after a ReLU are equal.

    >>> most_active(torch.tensor([[0.0, 3.0, 0.0, 0.0]]), k=2).tolist()
    [[True, True, False, False]]
    """
    last = values.topk(min(k, values.shape[1]), dim=1).values[:, -1:]
    above, equal = values > last, values == last
    return above | (equal & (equal.cumsum(dim=1) <= k - above.sum(dim=1, keepdim=True)))
