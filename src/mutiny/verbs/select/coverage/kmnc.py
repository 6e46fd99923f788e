"""k-multisection neuron coverage (KMNC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from torch import Tensor

from mutiny.models.read_points import ReadPoint, Units
from mutiny.verbs.select.coverage.criterion import Criterion
from mutiny.verbs.select.coverage.ranges import NeuronRanges, training_ranges
from mutiny.verbs.select.evidence import Evidence

Variant = Literal["deepgauge", "deepgini", "dnn-tip"]


@dataclass(frozen=True)
class Kmnc(Criterion):
    """A neuron's range on the training data is divided into k equal sections; an input covers the section it is in.

    Args:
        k: Number of sections of each neuron; 1000 in NSS, Table 5.
        variant: ``deepgauge``, the definition: k sections; the largest training value is in the last, and values
            outside the range cover nothing. ``deepgini``: k - 1 sections, and one below the range and one from its end
            on. ``dnn-tip``: k sections of every single unit; the largest training value, and all values of a neuron
            that is constant on the training data, cover nothing.
        order: Only ``additional``.
        layers: Layers to read, see `Criterion`; also for ``units``.
    """

    code: ClassVar[str] = "kmnc"
    title: ClassVar[str] = "k-multisection neuron coverage"
    source: ClassVar[str] = "Ma et al., DeepGauge, ASE 2018"

    k: int = 1000
    variant: Variant = "deepgauge"

    def __post_init__(self) -> None:
        """Checks the parameters."""
        super().__post_init__()
        self._within("k", 1, 1_000_000)
        self._one_of("variant", ("deepgauge", "deepgini", "dnn-tip"))
        self._additional_only("Any input within the training ranges covers one section of every neuron.")

    @property
    def sections(self) -> int:
        """Number of sections of each neuron, including those outside the range."""
        return self.k + 1 if self.variant == "deepgini" else self.k

    @property
    def counted(self) -> Units:
        """Channels, or every unit for dnn-tip."""
        return self.units or ("unit" if self.variant == "dnn-tip" else "neuron")

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """The section of each neuron's value."""
        ranges = training_ranges(evidence, points, self.counted)
        for batch in evidence.read("pool", points, self.counted):
            yield section_of(batch.features.cpu().double(), ranges, self.k, self.variant)


def section_of(values: Tensor, ranges: NeuronRanges, k: int, variant: Variant = "deepgauge") -> Tensor:
    """The section of each value, or -1, ``(rows, neurons)``.

    >>> import torch
    >>> from mutiny.verbs.select.coverage.ranges import ranges_of
    >>> ranges = ranges_of([torch.tensor([[0.0], [8.0]])])
    >>> section_of(torch.tensor([[-1.0], [0.0], [3.9], [4.0], [8.0], [9.0]]), ranges, k=4).flatten().tolist()
    [-1, 0, 1, 2, 3, -1]
    """
    low, high = ranges.minimum, ranges.maximum
    share = (values - low) / (high - low).where(high > low, 1)
    if variant == "deepgini":  # numbered like np.digitize with k edges
        within = (share * (k - 1)).floor().clamp(max=max(k - 2, 0)) + 1
        return within.where(values < high, k).where(values >= low, 0).long()
    inside = (values >= low) & ((values < high) if variant == "dnn-tip" else (values <= high))
    return (share * k).floor().clamp(max=k - 1).where(inside, -1).long()
