"""Neuron switch (NS)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits, Operator
from mutiny.faults.random_choice import choose, eligible, how_many, with_neurons
from mutiny.models import ModelView, WeightEdit


@dataclass(frozen=True)
class NeuronSwitch(Operator):
    """Exchanges neurons of the same layer in random pairs: their weights and biases are exchanged. DeepMutation++.

    Normalization and everything else after the neurons stays in place. A chosen neuron without a partner is exchanged
    with the next one in the layer's random order. Layers with a single neuron are not changed.

    Args:
        ratio: Share of the neurons, drawn uniformly over the whole network.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
        biases: Whether biases are exchanged as well.
    """

    code: ClassVar[str] = "NS"
    title: ClassVar[str] = "neuron switch"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    family: ClassVar[str] = "neurons"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.05
    layers: tuple[str, ...] | None = None
    output_layer: bool = True
    biases: bool = True

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Rows of paired neurons, exchanged."""
        layers = with_neurons(eligible(view, self.layers, self.output_layer), at_least=2)
        keys = rng.random(sum(layer.neurons for layer in layers))
        chosen = choose(keys, how_many(self.ratio, len(keys)))
        start = 0
        for layer in layers:
            count = int(((chosen >= start) & (chosen < start + layer.neurons)).sum())
            order = np.argsort(keys[start : start + layer.neurons], kind="stable")
            start += layer.neurons
            pairs = min((count + 1) // 2, layer.neurons // 2)
            if not pairs:
                continue
            here, there = order[0 : 2 * pairs : 2], order[1 : 2 * pairs : 2]
            for tensor in (*layer.weights, *(layer.biases if self.biases else ())):
                to, source = tensor.of(np.r_[here, there]).reshape(-1), tensor.of(np.r_[there, here]).reshape(-1)
                yield WeightEdit(tensor.parameter, to, view.take(tensor.parameter, source))
