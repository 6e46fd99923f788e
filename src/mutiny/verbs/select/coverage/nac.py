"""Neuron activation coverage (NAC)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import ClassVar, Literal

import torch
from torch import Tensor

from mutiny.models.capture import scaled
from mutiny.models.read_points import ReadPoint, Units
from mutiny.verbs.select.coverage.criterion import Criterion
from mutiny.verbs.select.evidence import Evidence

Scaling = Literal["layer", "channel", "sigmoid", "none"]


@dataclass(frozen=True)
class Nac(Criterion):
    """An input covers a neuron if it activates the neuron above a threshold.

    Implementations differ in what they compare with the threshold; ``scaling`` chooses one.

    Args:
        threshold: Threshold of activity; 0.5 in NSS, Table 5. Between 0 and 1, except for ``scaling="none"``.
        scaling: ``layer``, as in DeepXplore: all outputs of a layer for an input are scaled to 0..1 together, then each
            channel is averaged. ``channel``, as in NeuraL-Coverage: channels are averaged first. ``sigmoid``, as in
            DeepGini and ATS: logistic function of the channel's mean, so that 0.5 means a positive mean. ``none``, as
            in dnn-tip: activation of every single unit. Layers with constant output are not active.
        order: Order of inputs, see `Criterion`; also for ``layers`` and ``units``.
    """

    code: ClassVar[str] = "nac"
    title: ClassVar[str] = "neuron activation coverage"
    source: ClassVar[str] = "Pei et al., DeepXplore, SOSP 2017"

    threshold: float = 0.5
    scaling: Scaling = "layer"

    def __post_init__(self) -> None:
        """Checks the parameters."""
        super().__post_init__()
        self._one_of("scaling", ("layer", "channel", "sigmoid", "none"))
        self._within("threshold", *((-inf, inf) if self.scaling == "none" else (0, 1)))

    @property
    def sections(self) -> int:
        """One section: active."""
        return 1

    @property
    def counted(self) -> Units:
        """Channels, or every unit without scaling."""
        return self.units or ("unit" if self.scaling == "none" else "neuron")

    def codes(self, evidence: Evidence, points: Sequence[ReadPoint]) -> Iterator[Tensor]:
        """0 where a neuron is active."""
        read: Units = "unit" if self.scaling == "layer" else self.counted
        for batch in evidence.read("pool", points, read):
            yield active(batch.features, points, read, self.counted, self.scaling, self.threshold).to(torch.int8) - 1


def active(
    features: Tensor, points: Sequence[ReadPoint], read: Units, counted: Units, scaling: Scaling, threshold: float
) -> Tensor:
    """Whether each neuron is active, ``(rows, neurons)`` bool.

    Args:
        features: Features of all read points, concatenated, ``(rows, d)``.
        points: Places where they were read.
        read: Kind of unit that ``features`` has one number for.
        counted: Kind of unit that counts as a neuron; differs from ``read`` only if layers are scaled as a whole.
        scaling: Scaling, see `Nac`.
        threshold: Threshold of activity.
    """
    if scaling == "none":
        return features > threshold
    if (
        scaling == "sigmoid"
    ):  # compares with the inverse of the threshold, because the sigmoid of a tiny mean rounds to 1/2
        return features > (log(threshold / (1 - threshold)) if 0 < threshold < 1 else inf if threshold else -inf)
    layers = [scaled(layer) for layer in torch.split(features, [point.count(read) for point in points], 1)]
    if read != counted:
        layers = [averaged(layer, point) for layer, point in zip(layers, points, strict=True)]
    return torch.cat(layers, dim=1) > threshold


def averaged(units: Tensor, point: ReadPoint) -> Tensor:
    """The mean of each neuron's units: ``(rows, neurons)`` from ``(rows, units)``."""
    values = units.reshape(len(units), *point.shape).movedim(point.channel, -1)
    return values if values.ndim == 2 else values.flatten(1, -2).mean(dim=1)
