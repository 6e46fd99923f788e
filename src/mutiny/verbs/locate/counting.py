"""Reads the neurons of hidden layers, and counts the failing and passing inputs on which each is active."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models.capture import NeuronValue
from mutiny.models.device import placement
from mutiny.models.layout import laid_out
from mutiny.models.read_points import ALL, ReadPoint, ReadPoints
from mutiny.models.reading import reading
from mutiny.verbs.locate.activity import Activity
from mutiny.verbs.locate.failures import groups_of
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import Hits, Ints, Spectrum

SAMPLE = 2000
"""Largest number of inputs to which an activity is fitted."""


class NeuronBatch(NamedTuple):
    """Values of neurons on one batch.

    Attributes:
        values: One value per input and neuron, ``(n, neurons)``.
        outputs: Outputs of the model.
        inputs: The batch.
        where: Positions of the inputs.
    """

    values: Tensor
    outputs: Tensor
    inputs: Any
    where: slice


def hidden_points(tested: ModelUnderTest, layers: str | Sequence[str] | None = None) -> tuple[ReadPoint, ...]:
    """Hidden layers whose neurons can be suspects: those that match ``layers``, or all; never the output layer."""
    view = tested.view
    points = ReadPoints(view, tested.probe_inputs, tested.forward).choose(ALL if layers is None else layers)
    other = [point.name for point in points if point.kind != "signal"]
    if other:
        names = ", ".join(layer.name for layer in view.layers if not layer.output)
        raise BadInput("layers", repr(other[0]), f"hidden layers with weights: {names}")
    hidden = tuple(point for point in points if not view.layer(point.name).output)
    if not hidden:
        asked = ("model", type(tested.model).__name__) if layers is None else ("layers", layers)
        raise BadInput(*asked, "hidden layers with neurons", "Only neurons of the output layer can be read here.")
    return hidden


def unreadable_layers(tested: ModelUnderTest, points: Sequence[ReadPoint]) -> tuple[str, ...]:
    """Hidden layers with neurons that are not among all ``points``, such as inner layers of stacked RNNs."""
    readable = {point.name for point in points}
    hidden = (layer for layer in tested.view.layers if layer.neurons and not layer.output)
    return tuple(layer.name for layer in hidden if layer.name not in readable)


def read_neurons(
    tested: ModelUnderTest, points: Sequence[ReadPoint], at: NeuronValue = "signal", indices: Ints | None = None
) -> Iterator[NeuronBatch]:
    """Yields values of neurons batch by batch, for all inputs or for those at ``indices``."""
    put, size = placement(tested.model).put, tested.pace.batch_size
    count = len(tested.data) if indices is None else len(indices)
    with (
        reading(tested.view, points, "neuron", tested.call, True, at) as read,
        laid_out(tested.model, tested.pace.layout),
    ):
        for start in range(0, count, size):
            where = slice(start, min(start + size, count))
            inputs = put(tested.data.read(where if indices is None else indices[where]))
            values, outputs = read(inputs)
            if outputs is not None:
                yield NeuronBatch(values, outputs, inputs, where)


def count_hits(
    tested: ModelUnderTest, points: Sequence[ReadPoint], activity: Activity, at: NeuronValue = "signal"
) -> Spectrum:
    """Hit spectra of all neurons at ``points``, from one pass over the inputs; quantiles take another on a sample."""
    sizes = tuple(point.count("neuron") for point in points)
    if activity.needs_values:
        drawn = generator_for(tested.seed, "locate", "sample").permutation(len(tested.data))[:SAMPLE]
        sample = [batch.values for batch in read_neurons(tested, points, at, np.sort(drawn))]
        activity = activity.fitted(torch.cat(sample))

    def hits() -> Iterator[Hits]:
        for batch in read_neurons(tested, points, at):
            failed = tested.failing(batch.inputs, batch.outputs, batch.where)
            groups = groups_of(tested.task, tested.targets, batch.outputs, batch.where)
            yield Hits(activity.active(batch.values, sizes), groups, failed)

    return Spectrum.of(hits(), tuple(point.name for point in points), sizes, tested.groups)
