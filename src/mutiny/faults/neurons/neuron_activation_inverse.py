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
        ratio: share of the neurons, drawn uniformly over the whole network.
        direction: ``"incoming"``: weights and bias change sign, so that the value before the activation does (what
            DeepMutation++ does). ``"outgoing"``: the value after the activation changes sign for all that read it.
        biases: with ``"incoming"``, whether the bias changes sign as well.
        layers: names or shell patterns of the layers that take part; all if not given.
        output_layer: whether the output layer takes part.
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
