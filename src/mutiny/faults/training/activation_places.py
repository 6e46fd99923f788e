"""Activation functions of a network, by the layer that they follow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mutiny.core.errors import NotApplicable
from mutiny.faults.layers.sites import ACTIVATION_MODULES
from mutiny.faults.training.base import Program
from mutiny.faults.training.heard_calls import heard_calls
from mutiny.models import Activation, ModelView
from mutiny.models.torch_ops import ACTIVATIONS
from mutiny.subjects.training.changes import ActivationCall, ModuleReplaced, NetworkChange
from mutiny.subjects.training.spots import Spot


@dataclass(frozen=True)
class ActivationPlace:
    """An activation function in a program; in a loop it is called several times in a pass.

    Attributes:
        spot: of the calls.
        after: name of the layer before it; empty if there is none.
        output: whether it shapes the output.
        module: path of the module that is this activation and no other; ``None`` for a function.
    """

    spot: Spot
    after: str
    output: bool
    module: str | None

    def replaced(self, activation: str) -> NetworkChange:
        """The change that puts another activation here."""
        if self.module is not None:
            return ModuleReplaced(self.module, activation)
        return ActivationCall(*self.spot, activation)


def activation_places(program: Program) -> dict[str, ActivationPlace]:
    """Activations by name, see `names_by_layer`; without those that the program calls outside the network."""
    view = program.view
    heard = heard_calls(program, view.model, ACTIVATIONS)
    calls: dict[tuple[Spot, bool], list[Activation]] = {}
    for activation, call in zip(view.activations, heard, strict=True):
        calls.setdefault((call.spot, call.path is not None), []).append(activation)
    places = []
    for (spot, inside), some in calls.items():
        module = _module(view, some)
        if inside or module is not None:
            places.append(ActivationPlace(spot, some[0].after, any(each.output for each in some), module))
    if not places:
        raise NotApplicable("the network calls no activation function")
    names = names_by_layer([place.after for place in places], [place.spot for place in places])
    return dict(zip(names, places, strict=True))


def names_by_layer(layers: Sequence[str], spots: Iterable[Spot]) -> list[str]:
    """A name for each spot: its layer or, where that has several, ``layer:function``, ``layer:function2``, ...

    >>> names_by_layer(["fc1", "fc2", "fc2"], [Spot("", "relu"), Spot("", "relu"), Spot("", "relu", 1)])
    ['fc1', 'fc2:relu', 'fc2:relu2']
    """
    pairs = zip(layers, spots, strict=True)
    return [
        layer
        if layer and layers.count(layer) == 1
        else f"{layer or 'input'}:{spot.function}{spot.number + 1 if spot.number else ''}"
        for layer, spot in pairs
    ]


def _module(view: ModelView, calls: Sequence[Activation]) -> str | None:
    """The activation module that makes all of these calls and no others."""
    path = calls[0].path
    made = [call for call in view.activations if call.path == path]
    kind = type(view.model.get_submodule(path)).__name__
    return path if kind in ACTIVATION_MODULES and made == list(calls) else None
