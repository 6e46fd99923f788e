"""Neuron activation inverse (NAI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits
from mutiny.faults.neurons.neuron_scaling import NeuronScaling
from mutiny.models import ModelView


@dataclass(frozen=True)
class NeuronActivationInverse(NeuronScaling):
    """Inverts the activation status of a random share of the neurons. DeepMutation++; MUFF, Table I.

    Args:
        ratio: Share of the neurons, drawn uniformly over the whole network.
        direction: ``"incoming"``: weights and bias change sign, and with them the value before the activation, as in
            DeepMutation++. ``"outgoing"``: the value after the activation changes sign for everything that reads it.
        biases: Whether the bias changes sign as well, with ``"incoming"``.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
    """

    code: ClassVar[str] = "NAI"
    title: ClassVar[str] = "neuron activation inverse"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"ratio": (0.0, 1.0)}
    ratio: float = 0.05
    direction: str = "incoming"
    biases: bool = True
    layers: tuple[str, ...] | None = None
    output_layer: bool = True

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Chosen neurons times -1."""
        return self.scaled(view, rng, -1.0)
