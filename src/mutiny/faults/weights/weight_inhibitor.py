"""Weight inhibitor (WI)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits, Operator
from mutiny.faults.random_choice import choose_weights, eligible
from mutiny.models import ModelView, WeightEdit


@dataclass(frozen=True)
class WeightInhibitor(Operator):
    """Shrinks a random share of the weights by a factor: ``w (1 - factor)``. MUFF, eq. 7.

    Weights are drawn uniformly over the whole network (MUFF does not say whether per layer), including the output
    layer, embeddings and recurrent and attention matrices. Normalization layers are not changed.

    Args:
        ratio: Share of the weights.
        factor: Share by which a weight shrinks: 0 changes nothing, 1 zeroes the chosen weights.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
        biases: Whether biases are among the weights; the papers never count them.
        search: Parameter that a search tunes, ``"factor"`` or ``"ratio"``.
    """

    code: ClassVar[str] = "WI"
    title: ClassVar[str] = "weight inhibitor"
    source: ClassVar[str] = "MUFF, eq. 7"
    family: ClassVar[str] = "weights"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"factor": (0.0, 1.0), "ratio": (0.0, 1.0)}
    ratio: float = 0.05
    factor: float = 0.5
    layers: tuple[str, ...] | None = None
    output_layer: bool = True
    biases: bool = False
    search: str = "factor"

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Chosen weights times ``1 - factor``."""
        layers = eligible(view, self.layers, self.output_layer)
        for weight, indices, _ in choose_weights(layers, self.ratio, rng, self.biases):
            yield WeightEdit(weight.parameter, indices, view.take(weight.parameter, indices) * (1 - self.factor))
