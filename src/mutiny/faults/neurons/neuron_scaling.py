"""Scaling of neurons: their signal as others read it (outgoing), or the weights that feed them (incoming)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Operator
from mutiny.faults.random_choice import choose_neurons, eligible, with_neurons
from mutiny.models import Layer, ModelView, SignalEdit, WeightEdit
from mutiny.models.layers import Indices

DIRECTIONS = ("outgoing", "incoming")


@dataclass(frozen=True)
class NeuronScaling(Operator):
    """Base class of the operators that multiply a random share of the neurons by a number."""

    family: ClassVar[str] = "neurons"
    ratio: float = 0.05
    direction: str = "outgoing"
    biases: bool = False
    layers: tuple[str, ...] | None = None
    output_layer: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._one_of("direction", DIRECTIONS)

    def scaled(self, view: ModelView, rng: np.random.Generator, factor: float) -> Iterator[WeightEdit | SignalEdit]:
        """Edits that multiply the chosen neurons by ``factor``."""
        layers = with_neurons(eligible(view, self.layers, self.output_layer))
        for layer, units in choose_neurons(layers, self.ratio, rng):
            yield from scale_neurons(view, layer, units, factor, self.direction, self.biases)


def scale_neurons(
    view: ModelView, layer: Layer, units: Indices, factor: float, direction: str, biases: bool
) -> Iterator[WeightEdit | SignalEdit]:
    """Edits that multiply neurons by ``factor``.

    Outgoing: everything that reads the neuron's signal gets it times ``factor``, as if each outgoing weight were
    multiplied. The signal is the value after the neuron's own normalization, activation and pooling, and after
    arithmetic with only itself, numbers, parameters and buffers, such as a bias added by hand or ``h * sigmoid(h)``.
    Hidden units of recurrent layers are read by their own recurrent matrix, by the layer above and by the caller.
    Queries, keys and values of attention are linear in their weights and biases, so scaling those is exact.

    Incoming: the weights that feed the neuron are multiplied by ``factor``, and so are its biases if ``biases``.
    """
    units = np.sort(units)
    inside = layer.channel is None
    if direction == "incoming" or inside:
        for tensor in (*layer.weights, *(layer.biases if biases or inside else ())):
            yield _times(view, tensor.parameter, tensor.of(units).reshape(-1), factor)
        return
    for reader in layer.consumers:
        yield _times(view, reader.parameter, reader.of(units).reshape(-1), factor)
    if layer.slots or not layer.consumers:
        yield SignalEdit(layer, units, factor)


def _times(view: ModelView, parameter: str, indices: Indices, factor: float) -> WeightEdit:
    return WeightEdit(parameter, indices, view.take(parameter, indices) * factor)
