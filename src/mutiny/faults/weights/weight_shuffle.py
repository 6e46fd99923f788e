"""Weight shuffle (WS)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.base import Edits, Operator
from mutiny.faults.random_choice import choose_neurons, eligible, with_neurons
from mutiny.models import ModelView, WeightEdit


@dataclass(frozen=True)
class WeightShuffle(Operator):
    """Shuffles the weights that feed each of a random share of the neurons. DeepMutation++.

    Biases stay in place; the output layer takes part; embeddings and normalization layers are not changed. In recurrent
    layers each gate's row is shuffled separately, in the input matrix and in the recurrent matrix.

    Args:
        ratio: Share of the neurons, drawn uniformly over the whole network.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
    """

    code: ClassVar[str] = "WS"
    title: ClassVar[str] = "weight shuffle"
    source: ClassVar[str] = "DeepMutation++"
    family: ClassVar[str] = "weights"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.05
    layers: tuple[str, ...] | None = None
    output_layer: bool = True

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """A permutation of every row that feeds a chosen neuron."""
        layers = with_neurons(eligible(view, self.layers, self.output_layer))
        layers = [layer for layer in layers if any(weight.size // layer.neurons > 1 for weight in layer.weights)]
        if not layers:
            raise NotApplicable("every neuron has a single incoming weight, so there is nothing to shuffle")
        seeds = {layer.name: int(rng.integers(2**63)) for layer in layers}
        for layer, units in choose_neurons(layers, self.ratio, rng):
            order = np.random.Generator(np.random.PCG64(seeds[layer.name]))
            positions = [weight.of(units) for weight in layer.weights]
            shuffled = [np.empty_like(rows) for rows in positions]
            for unit in range(len(units)):
                for rows, mixed in zip(positions, shuffled, strict=True):
                    for gate in range(rows.shape[1]):
                        mixed[unit, gate] = order.permutation(rows[unit, gate])
            for weight, rows, mixed in zip(layer.weights, positions, shuffled, strict=True):
                yield WeightEdit(weight.parameter, rows.reshape(-1), view.take(weight.parameter, mixed.reshape(-1)))
