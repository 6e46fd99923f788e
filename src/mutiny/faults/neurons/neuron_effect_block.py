"""Neuron effect block (NEB)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits
from mutiny.faults.neurons.neuron_scaling import NeuronScaling
from mutiny.models import ModelView


@dataclass(frozen=True)
class NeuronEffectBlock(NeuronScaling):
    """Blocks the signals of a random share of the neurons. DeepMutation++; MUFF, Table I.

    Args:
        ratio: Share of the neurons, drawn uniformly over the whole network.
        direction: ``"outgoing"``: everything that reads the neuron gets 0, as the papers describe it. ``"incoming"``:
            the neuron's weights and bias become 0, as in DeepMutation++'s code; the neuron then still has the value
            that its normalization and activation give for 0.
        biases: Whether the bias becomes 0 as well, with ``"incoming"``.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part; not by default, because nothing reads it.
    """

    code: ClassVar[str] = "NEB"
    title: ClassVar[str] = "neuron effect block"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.05
    direction: str = "outgoing"
    biases: bool = True
    layers: tuple[str, ...] | None = None
    output_layer: bool = False

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Chosen neurons times 0."""
        return self.scaled(view, rng, 0.0)
