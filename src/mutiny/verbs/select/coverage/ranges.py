"""Ranges of neurons on the training data, from one pass that keeps no activations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.models.read_points import ReadPoint, Units
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class NeuronRanges:
    """Smallest and largest value, mean and (population) standard deviation of each neuron, ``(neurons,)`` each."""

    minimum: Tensor
    maximum: Tensor
    mean: Tensor
    sd: Tensor


def ranges_of(batches: Iterable[Tensor]) -> NeuronRanges:
    """Ranges over all rows of all batches ``(rows, neurons)``, in double precision.

    Means and squares are merged batch by batch (Chan, Golub and LeVeque, 1979), which does not lose digits, unlike the
    sum of squares minus the squared sum.

    >>> ranges = ranges_of([torch.tensor([[1.0], [2.0]]), torch.tensor([[6.0]])])
    >>> ranges.minimum.item(), ranges.maximum.item(), ranges.mean.item(), round(ranges.sd.item(), 3)
    (1.0, 6.0, 3.0, 2.16)
    """
    seen, mean, squares = 0, torch.zeros((), dtype=torch.double), torch.zeros((), dtype=torch.double)
    minimum, maximum = mean + torch.inf, mean - torch.inf
    for batch in batches:
        values = batch.cpu().double()
        rows, center = len(values), values.mean(dim=0)
        apart = center - mean  # difference of this batch's mean and the mean so far
        squares = squares + (values - center).square().sum(dim=0) + apart.square() * (seen * rows / (seen + rows))
        mean = mean + apart * (rows / (seen + rows))
        minimum, maximum = torch.minimum(minimum, values.amin(dim=0)), torch.maximum(maximum, values.amax(dim=0))
        seen += rows
    bad = ~(torch.isfinite(minimum) & torch.isfinite(maximum))
    if bool(bad.any()):
        raise BadInput(
            "activations on train",
            f"NaN or infinite in {int(bad.sum())} of {bad.numel()} neurons",
            "finite numbers",
            "Check the training data and the model's weights.",
        )
    return NeuronRanges(minimum, maximum, mean, (squares / seen).sqrt())


def training_ranges(evidence: Evidence, points: Sequence[ReadPoint], units: Units) -> NeuronRanges:
    """Ranges on the training data, from one pass for all criteria."""
    key = ("ranges", tuple(point.name for point in points), units)
    return evidence.once(key, lambda: ranges_of(batch.features for batch in evidence.read("train", points, units)))
