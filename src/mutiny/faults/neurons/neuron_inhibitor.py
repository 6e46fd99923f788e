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
    """Multiplies the signals of a random share of the neurons by ``1 - factor``. MUFF, section IV-B.

    MUFF first says that only outgoing weights change, later that the weights "within" the neurons do; ``direction``
    offers both, and the first is the default. Outgoing means that everything that reads the neuron gets its signal
    times ``1 - factor``. Output neurons have no outgoing weights and are not changed unless ``output_layer`` is true.

    Args:
        ratio: Share of the neurons, drawn uniformly over the whole network.
        factor: Share by which a neuron shrinks: 0 changes nothing, 1 blocks the neuron.
        direction: ``"outgoing"`` for the signals of the neurons, ``"incoming"`` for the weights that feed them.
        biases: Whether the neuron's bias shrinks as well, with ``"incoming"``.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
        search: Parameter that a search tunes, ``"factor"`` or ``"ratio"``.
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
