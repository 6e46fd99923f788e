"""Maps a candidate of a search, a vector of numbers, to new values of some weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from mutiny.models import Layer, ModelView, Patch, Weight, WeightEdit
from mutiny.models.layers import Indices

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parametrization:
    """Weights that a candidate sets or scales.

    Attributes:
        view: Structure of the model.
        entries: Flat positions of the weights, by parameter.
        variable: Position in the candidate of the number for each entry, by parameter.
        factors: Whether that number multiplies the current weight, instead of replacing it.
    """

    view: ModelView
    entries: Mapping[str, Indices]
    variable: Mapping[str, Indices]
    factors: bool

    def current(self, name: str) -> Tensor:
        """Current values of the entries of a parameter."""
        return self.view.take(name, self.entries[name])

    def values(self, candidates: Floats) -> dict[str, Tensor]:
        """New values of weights for candidates ``(m, d)``: ``{parameter: (m, entries)}``."""
        values = {}
        for name, variable in self.variable.items():
            numbers = torch.from_numpy(candidates[:, variable])
            values[name] = (numbers * self.current(name) if self.factors else numbers).to(self.view.parameters[name])
        return values

    def patch(self, candidate: Floats) -> Patch:
        """The patch of one candidate, ``(d,)``."""
        values = self.values(candidate[None])
        edits = tuple(WeightEdit(name, self.entries[name], new[0].cpu()) for name, new in values.items())
        return Patch(edits, first_layer(self.view, [*values]))

    @classmethod
    def of_weights(cls, view: ModelView, weights: Sequence[Weight], places: Indices) -> Parametrization:
        """One number for each weight at ``places`` in the concatenation of ``weights``; it replaces the weight."""
        starts = np.cumsum([0, *(weight.size for weight in weights)])
        entries: dict[str, list[Indices]] = {}
        variable: dict[str, list[Indices]] = {}
        for weight, start in zip(weights, starts, strict=False):
            here = np.flatnonzero((places >= start) & (places < start + weight.size))
            if len(here):
                entries.setdefault(weight.parameter, []).append(places[here] - start + weight.offset)
                variable.setdefault(weight.parameter, []).append(here)
        return cls(view, _joined(entries), _joined(variable), factors=False)

    @classmethod
    def of_neurons(cls, view: ModelView, neurons: Sequence[tuple[Layer, int]]) -> Parametrization:
        """One number for each neuron; it multiplies the neuron's incoming weights and its bias."""
        entries: dict[str, list[Indices]] = {}
        variable: dict[str, list[Indices]] = {}
        for number, (layer, unit) in enumerate(neurons):
            for weight in (*layer.weights, *layer.biases):
                places = weight.of(np.array([unit])).ravel()
                entries.setdefault(weight.parameter, []).append(places)
                variable.setdefault(weight.parameter, []).append(np.full(len(places), number))
        return cls(view, _joined(entries), _joined(variable), factors=True)


def first_layer(view: ModelView, parameters: Sequence[str]) -> str:
    """Name of the first layer that holds one of the parameters."""
    wanted = set(parameters)
    layers = (layer for layer in view.layers if wanted & {w.parameter for w in (*layer.weights, *layer.biases)})
    return next((layer.name for layer in layers), "")


def _joined(parts: Mapping[str, list[Indices]]) -> dict[str, Indices]:
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}
