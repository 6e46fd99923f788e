"""Neuron inhibitor (NI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits
from mutiny.faults.neurons.neuron_scaling import NeuronScaling
from mutiny.models import ModelView


@dataclass(frozen=True)
class NeuronInhibitor(NeuronScaling):
    """Shrinks what a random share of the neurons tells the rest of the network by ``1 - factor``. MUFF, section IV-B.

    MUFF first says that only outgoing weights change, later that the weights "within" the neurons do; ``direction``
    offers both and follows the first. Outgoing means exactly that every consumer sees the neuron's signal times
    ``1 - factor``. Output neurons have no outgoing weights and are left alone unless ``output_layer``.

    Args:
        ratio: share of the neurons, drawn uniformly over the whole network.
        factor: 0 changes nothing, 1 blocks the neuron.
        direction: ``"outgoing"`` or ``"incoming"``.
        biases: with ``"incoming"``, whether the neuron's bias shrinks as well.
        layers: names or shell patterns of the layers that take part; all if not given.
        output_layer: whether the output layer takes part.
        search: the parameter that a search tunes, ``"factor"`` or ``"ratio"``.
    """

    code: ClassVar[str] = "NI"
    title: ClassVar[str] = "neuron inhibitor"
    source: ClassVar[str] = "MUFF, section IV-B"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"factor": (0.0, 1.0), "ratio": (0.0, 1.0)}
    ratio: float = 0.05
    factor: float = 0.5
    direction: str = "outgoing"
    biases: bool = False
    layers: tuple[str, ...] | None = None
    output_layer: bool = False
    search: str = "factor"

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Chosen neurons times ``1 - factor``."""
        return self.scaled(view, rng, 1 - self.factor)
