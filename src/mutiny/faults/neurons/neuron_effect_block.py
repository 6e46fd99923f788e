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
    """Blocks the influence of a random share of the neurons on all that read them. DeepMutation++; MUFF, Table I.

    Args:
        ratio: share of the neurons, drawn uniformly over the whole network.
        direction: ``"outgoing"``: every consumer sees 0 in place of the neuron, as the papers describe it.
            ``"incoming"``: the neuron's weights and bias become 0, as DeepMutation++'s code does; the neuron then still
            says whatever its activation and normalization make of 0.
        biases: with ``"incoming"``, whether the bias becomes 0 as well.
        layers: names or shell patterns of the layers that take part; all if not given.
        output_layer: whether the output layer takes part; by default not, for nothing reads it.
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
