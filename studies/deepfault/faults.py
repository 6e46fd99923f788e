"""Known faults: operators of mutiny change a few neurons of a trained network, so that the guilty are known."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn

from mutiny.core.random import generator_for
from mutiny.faults import OPERATORS
from mutiny.faults.base import Operator
from mutiny.models import ModelView, Patch, WeightEdit
from mutiny.models.layers import Indices, Layer
from studies.deepfault.lab import Lab, Network

KINDS: Mapping[str, Mapping[str, Any]] = {
    "WS": {"output_layer": False},
    "NS": {"output_layer": False},
    "NAI": {"output_layer": False, "direction": "incoming"},
    "NI": {"output_layer": False, "direction": "incoming", "factor": 1.0},
}
"""Operators that change the incoming weights of neurons, with their parameters."""
SIZE = 5
"""Neurons that are drawn; those that NS draws are exchanged with others of their layer, which are faulty too."""

Neuron = tuple[str, int]
"""A layer's name and the number there."""
Positions = Mapping[str, Indices]
"""Flat positions of weights by parameter."""


@dataclass(frozen=True, eq=False)
class Fault:
    """A trained network before and after.

    Attributes:
        number: among all faults.
        operator: its code.
        clean: before.
        faulty: after.
        neurons: hidden neurons whose incoming weights are not what they were.
    """

    number: int
    operator: str
    clean: Network
    faulty: Network
    neurons: frozenset[Neuron]

    @property
    def view(self) -> ModelView:
        """Of the faulty network."""
        return seen(self.faulty)


def inject(lab: Lab, number: int) -> Fault:
    """Puts fault ``number`` into a copy of one of the networks; they and the operators take turns."""
    clean = lab.network(number % len(lab.models), lab.family.ways[0])
    code, view = [*KINDS][number % len(KINDS)], seen(clean)
    kind: Callable[..., Operator] = OPERATORS[code]
    operator = kind(ratio=SIZE / count(view), **KINDS[code])
    patch = operator.patch(view, generator_for(lab.settings.seed, "deepfault study", "injected", number))
    faulty = replace(clean, model=written(clean.model, patch))
    return Fault(number, code, clean, faulty, fed(view, changed(clean.model, faulty.model)))


def seen(network: Network) -> ModelView:
    """The network's layers."""
    return ModelView.of(network.model, network.subject.test.first(2), network.forward)


def hidden(view: ModelView) -> list[Layer]:
    """Layers with neurons that others read."""
    return [layer for layer in view.layers if layer.neurons and not layer.output]


def count(view: ModelView) -> int:
    """Hidden neurons."""
    return sum(layer.neurons for layer in hidden(view))


def written(model: nn.Module, patch: Patch) -> nn.Module:
    """A copy of the model in which the patch is real."""
    found = copy.deepcopy(model)
    weights = dict(found.named_parameters())
    with torch.no_grad():
        for edit in patch.edits:
            assert isinstance(edit, WeightEdit)
            weights[edit.parameter].put_(torch.from_numpy(edit.indices), edit.values)
    return found


def changed(before: nn.Module, after: nn.Module) -> dict[str, Indices]:
    """Weights whose values differ.

    >>> one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    >>> _ = other.load_state_dict(one.state_dict()), other.weight.data[1, 0].add_(1)
    >>> {name: places.tolist() for name, places in changed(one, other).items()}
    {'weight': [2], 'bias': []}
    """
    new = dict(after.named_parameters())
    return {name: np.flatnonzero((old != new[name]).numpy(force=True)) for name, old in before.named_parameters()}


def touched(patches: Iterable[Patch]) -> dict[str, Indices]:
    """Weights that one of the patches sets."""
    found: dict[str, Indices] = {}
    for edit in (edit for patch in patches for edit in patch.edits if isinstance(edit, WeightEdit)):
        found[edit.parameter] = np.union1d(found.get(edit.parameter, edit.indices), edit.indices)
    return found


def fed(view: ModelView, positions: Positions) -> frozenset[Neuron]:
    """Hidden neurons that some of these weights feed.

    >>> view = ModelView.of(nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval(), torch.zeros(1, 2))
    >>> fed(view, {"0.weight": np.array([4, 5]), "2.weight": np.array([0])})
    frozenset({('0', 2)})
    """
    found: set[Neuron] = set()
    for layer in hidden(view):
        for tensor in (*layer.weights, *layer.biases):
            if tensor.parameter in positions:
                held = np.isin(tensor.of(np.arange(layer.neurons)), positions[tensor.parameter])
                found |= {(layer.name, int(unit)) for unit in np.flatnonzero(held.any(axis=(1, 2)))}
    return frozenset(found)


def feeding(view: ModelView, neurons: Iterable[Neuron]) -> dict[str, Indices]:
    """Weights that feed these neurons; biases are not counted."""
    found: dict[str, list[Indices]] = {}
    for name, unit in neurons:
        for weight in view.layer(name).weights:
            found.setdefault(weight.parameter, []).append(weight.of(np.array([unit])).ravel())
    return {name: np.concatenate(some) for name, some in found.items()}


def common(first: Positions, second: Positions) -> int:
    """How many weights are in both."""
    return sum(len(np.intersect1d(places, second[name])) for name, places in first.items() if name in second)
