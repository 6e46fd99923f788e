"""What the operators that multiply neurons by a number share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Operator
from mutiny.faults.neurons.scaling import DIRECTIONS, scale_neurons
from mutiny.faults.random_choice import choose_neurons, eligible, with_neurons
from mutiny.models import ModelView, SignalEdit, WeightEdit


@dataclass(frozen=True)
class NeuronScaling(Operator):
    """Base of the operators that scale a random share of the neurons, outgoing or incoming."""

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
