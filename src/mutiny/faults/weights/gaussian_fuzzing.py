"""Gaussian fuzzing (GF)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from mutiny.faults.base import Edits, Operator
from mutiny.faults.random_choice import choose_weights, count_weights, eligible
from mutiny.models import ModelView, WeightEdit


@dataclass(frozen=True)
class GaussianFuzzing(Operator):
    """Multiplies a random share of the weights by ``1 + e`` with ``e ~ N(0, sd^2)``. DeepMutation++; MUFF, eq. 6.

    The output layer takes part; normalization layers are not changed. MUFF does not state which parameter it searched;
    here it is the standard deviation of the noise, which scales the change of each weight.

    Args:
        ratio: Share of the weights.
        sd: Standard deviation of the noise.
        clip: ``"mutated"`` clips the changed weights to [-1, 1] (eq. 6); ``"layer"`` clips every weight of a layer that
            has one, also those not chosen, as DeepMutation++'s code does; ``"none"`` does not clip.
        layers: Names or shell patterns of the layers that take part; all layers by default.
        output_layer: Whether the output layer takes part.
        biases: Whether biases are among the weights.
        search: Parameter that a search tunes, ``"sd"`` or ``"ratio"``.
    """

    code: ClassVar[str] = "GF"
    title: ClassVar[str] = "Gaussian fuzzing"
    source: ClassVar[str] = "DeepMutation++; MUFF, eq. 6"
    family: ClassVar[str] = "weights"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"sd": (0.0, 1.0), "ratio": (0.0, 1.0)}
    ratio: float = 0.05
    sd: float = 0.5
    clip: str = "mutated"
    layers: tuple[str, ...] | None = None
    output_layer: bool = True
    biases: bool = False
    search: str = "sd"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._one_of("clip", ("mutated", "layer", "none"))

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """Chosen weights times ``1 + e``; nothing, not even clipping, without noise."""
        layers = eligible(view, self.layers, self.output_layer)
        if self.sd == 0:
            return
        noise_rng = np.random.Generator(np.random.PCG64(rng.integers(2**63)))
        noise = noise_rng.standard_normal(count_weights(layers, self.biases)) * self.sd
        for weight, indices, overall in choose_weights(layers, self.ratio, rng, self.biases):
            if self.clip == "layer":
                values = view.take(weight.parameter, weight.all)
                values[indices - weight.offset] *= torch.from_numpy(1 + noise[overall]).to(values.dtype)
                yield WeightEdit(weight.parameter, weight.all, values.clamp(-1, 1))
                continue
            values = view.take(weight.parameter, indices)
            values = values * torch.from_numpy(1 + noise[overall]).to(values.dtype)
            yield WeightEdit(weight.parameter, indices, values if self.clip == "none" else values.clamp(-1, 1))
