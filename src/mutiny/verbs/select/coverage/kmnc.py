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
    """A neuron's range on the training data is cut into k equal sections; an input covers the one it falls into.

    Args:
        k: sections of each neuron; 1000 in NSS, Table 5.
        variant: ``deepgauge``, the definition: k sections, the largest training value belongs to the last, and what is
            outside the range covers nothing. ``deepgini``: k - 1 sections, and below the range and from its end on
            count as two more. ``dnn-tip``: k sections of every single unit, and the largest training value, like all
            values of a neuron that is constant on the training data, is in none.
        order: only ``additional``.
        layers: see `Criterion`, as ``units``.
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
        """Of each neuron, with those outside the range where they count."""
        return self.k + 1 if self.variant == "deepgini" else self.k

    @property
    def counted(self) -> Units:
        """Channels, or every unit for dnn-tip."""
        return self.units or ("unit" if self.variant == "dnn-tip" else "neuron")

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """The section in which a neuron's value is."""
        ranges = training_ranges(evidence, points, self.counted)
        for one in evidence.read("pool", points, self.counted):
            yield section_of(one.features.cpu().double(), ranges, self.k, self.variant)


def section_of(values: Tensor, ranges: NeuronRanges, k: int, variant: Variant = "deepgauge") -> Tensor:
    """The section in which each value is, or -1, ``(rows, neurons)``.

    >>> import torch
    >>> from mutiny.verbs.select.coverage.ranges import ranges_of
    >>> ranges = ranges_of([torch.tensor([[0.0], [8.0]])])
    >>> section_of(torch.tensor([[-1.0], [0.0], [3.9], [4.0], [8.0], [9.0]]), ranges, k=4).flatten().tolist()
    [-1, 0, 1, 2, 3, -1]
    """
    low, high = ranges.minimum, ranges.maximum
    share = (values - low) / (high - low).where(high > low, 1)
    if variant == "deepgini":  # numbered as np.digitize does with k edges
        within = (share * (k - 1)).floor().clamp(max=max(k - 2, 0)) + 1
        return within.where(values < high, k).where(values >= low, 0).long()
    inside = (values >= low) & ((values < high) if variant == "dnn-tip" else (values <= high))
    return (share * k).floor().clamp(max=k - 1).where(inside, -1).long()
