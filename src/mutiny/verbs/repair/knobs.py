"""What a search turns: numbers from which new values of some weights follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.models import ModelView, Patch
from mutiny.models.layers import Indices, Layer, Weight
from mutiny.models.patch import WeightEdit

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Knobs:
    """Weights, and the number by which each is set (or multiplied).

    Attributes:
        entries: flat positions by parameter.
        knob: for each entry, the number of its knob.
        factors: whether a knob multiplies the present value.
    """

    view: ModelView
    entries: Mapping[str, Indices]
    knob: Mapping[str, Indices]
    factors: bool

    def now(self, name: str) -> Tensor:
        """Present values of a parameter's entries."""
        return self.view.take(name, self.entries[name])

    def values(self, settings: Floats) -> dict[str, Tensor]:
        """New values for settings of the knobs ``(m, knobs)``: ``{parameter: (m, entries)}``."""
        found = {}
        for name, which in self.knob.items():
            turned = torch.from_numpy(settings[:, which])
            found[name] = (turned * self.now(name) if self.factors else turned).to(self.view.parameters[name])
        return found

    def patch(self, setting: Floats) -> Patch:
        """The patch of one setting, ``(knobs,)``."""
        found = self.values(setting[None])
        edits = tuple(WeightEdit(name, self.entries[name], values[0].cpu()) for name, values in found.items())
        return Patch(edits, first_layer(self.view, [*found]))

    @classmethod
    def of_weights(cls, view: ModelView, weights: Sequence[Weight], places: Indices) -> Knobs:
        """One knob for each weight at ``places`` in the concatenation of ``weights``."""
        starts = np.cumsum([0, *(weight.size for weight in weights)])
        entries: dict[str, list[Indices]] = {}
        knob: dict[str, list[Indices]] = {}
        for weight, start in zip(weights, starts, strict=False):
            here = np.flatnonzero((places >= start) & (places < start + weight.size))
            if len(here):
                entries.setdefault(weight.parameter, []).append(places[here] - start + weight.offset)
                knob.setdefault(weight.parameter, []).append(here)
        return cls(view, _joined(entries), _joined(knob), factors=False)

    @classmethod
    def of_neurons(cls, view: ModelView, neurons: Sequence[tuple[Layer, int]]) -> Knobs:
        """One knob for each neuron, which multiplies its incoming weights and its bias."""
        entries: dict[str, list[Indices]] = {}
        knob: dict[str, list[Indices]] = {}
        for number, (layer, unit) in enumerate(neurons):
            for weight in (*layer.weights, *layer.biases):
                places = weight.of(np.array([unit])).ravel()
                entries.setdefault(weight.parameter, []).append(places)
                knob.setdefault(weight.parameter, []).append(np.full(len(places), number))
        return cls(view, _joined(entries), _joined(knob), factors=True)


def first_layer(view: ModelView, parameters: Sequence[str]) -> str:
    """Name of the first layer that holds one of the parameters."""
    some = set(parameters)
    held = (layer.name for layer in view.layers if some & {w.parameter for w in (*layer.weights, *layer.biases)})
    return next(held, "")


def _joined(parts: Mapping[str, list[Indices]]) -> dict[str, Indices]:
    return {name: np.concatenate(some) for name, some in parts.items()}
