"""Operators that change one activation function before training: DeepCrime's ACH, AAL and ARM, DeepMutation's AFRs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.layers.sites import ACTIVATION_MODULES
from mutiny.faults.training.base import Program
from mutiny.faults.training.function_calls import function_calls, names_by_layer
from mutiny.faults.training.layer_operator import LayerOperator, hidden_modules, places_of, with_change
from mutiny.models import Activation, ModelView, torch_ops
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.call_sites import CallSite
from mutiny.subjects.training.changes import ACTIVATIONS, ActivationCall, ModuleFollowed, ModuleReplaced, NetworkChange

ALIASES = {"hardsigmoid": "hard_sigmoid"}
"""Names of activations by torch's name, where these differ."""


@dataclass(frozen=True)
class ActivationPlace:
    """An activation function in a program; in a loop it is called several times in a pass.

    Attributes:
        site: Position of the calls.
        after: Name of the layer before it; empty if there is none.
        output: Whether it is the activation of the output.
        module: Path of the module that makes these calls and no others; ``None`` for a function.
    """

    site: CallSite
    after: str
    output: bool
    module: str | None

    def replaced(self, activation: str) -> NetworkChange:
        """The change that puts another activation here."""
        if self.module is not None:
            return ModuleReplaced(self.module, activation)
        return ActivationCall(*self.site, activation)


def activation_places(program: Program) -> dict[str, ActivationPlace]:
    """Activations by name, see `names_by_layer`, except those that the program calls outside the network."""
    view = program.view
    calls = function_calls(program, view.model, torch_ops.ACTIVATIONS)
    by_site: dict[tuple[CallSite, bool], list[Activation]] = {}
    for activation, call in zip(view.activations, calls, strict=True):
        by_site.setdefault((call.site, call.path is not None), []).append(activation)
    places = []
    for (site, inside), activations in by_site.items():
        module = _module(view, activations)
        if inside or module is not None:
            output = any(activation.output for activation in activations)
            places.append(ActivationPlace(site, activations[0].after, output, module))
    if not places:
        raise NotApplicable("the network calls no activation function")
    names = names_by_layer([place.after for place in places], [place.site for place in places])
    return dict(zip(names, places, strict=True))


def _module(view: ModelView, calls: Sequence[Activation]) -> str | None:
    """Path of the activation module that makes all of these calls and no others."""
    path = calls[0].path
    made = [call for call in view.activations if call.path == path]
    kind = type(view.model.get_submodule(path)).__name__
    return path if kind in ACTIVATION_MODULES and made == list(calls) else None


@dataclass(frozen=True)
class ChangedActivation(LayerOperator):
    """Changes the activation function after one layer to each other one. DeepCrime.

    An elementwise activation of the output, such as a sigmoid, is changed, too; a softmax at the end is part of what
    the outputs mean, and stays. Modules and functions are treated alike.

    Args:
        layer: Name of the layer before it.
        activation: New activation: elu, softmax, selu, softplus, softsign, relu, tanh, sigmoid, hard_sigmoid,
            exponential or linear.
    """

    code: ClassVar[str] = "ACH"
    title: ClassVar[str] = "change an activation"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "activation"
    options: ClassVar[tuple[Any, ...]] = tuple(ACTIVATIONS)

    activation: str | None = None

    def places(self, program: Program) -> dict[str, str]:
        """Layers that are followed by an activation."""
        functions = {name: place.site.function for name, place in activation_places(program).items()}
        return {name: ALIASES.get(function, function) for name, function in functions.items()}

    def changed(self, program: Program, layer: str) -> Recipe:
        """Replaces the activation."""
        return with_change(program.recipe, activation_places(program)[layer].replaced(str(self.activation)))


@dataclass(frozen=True)
class AddedActivation(LayerOperator):
    """Adds an activation function right after a hidden linear layer or convolution that has none. DeepCrime.

    Args:
        layer: Path of the layer's module.
        activation: New activation: elu, softmax, selu, softplus, softsign, relu, tanh, sigmoid, hard_sigmoid or
            exponential.
    """

    code: ClassVar[str] = "AAL"
    title: ClassVar[str] = "add an activation"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "activation"
    options: ClassVar[tuple[Any, ...]] = tuple(name for name in ACTIVATIONS if name != "linear")

    activation: str | None = None

    def places(self, program: Program) -> dict[str, None]:
        """Hidden layers without an activation function before the next layer."""
        followed = {activation.after for activation in program.view.activations}
        names = [name for name, layer in hidden_modules(program.view).items() if layer.name not in followed]
        return places_of(names, "every hidden layer has an activation")

    def changed(self, program: Program, layer: str) -> Recipe:
        """Adds the activation."""
        return with_change(program.recipe, ModuleFollowed(layer, str(self.activation)))


@dataclass(frozen=True)
class RemovedActivation(LayerOperator):
    """Removes the activation after one layer, module or function, but never the output's activation. DeepCrime.

    Args:
        layer: Name of the layer before it.
    """

    code: ClassVar[str] = "ARM"
    title: ClassVar[str] = "remove an activation"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, None]:
        """Layers that are followed by an activation that another layer reads."""
        names = [name for name, place in activation_places(program).items() if not place.output]
        return places_of(names, "no activation function before the output")

    def changed(self, program: Program, layer: str) -> Recipe:
        """Removes the activation."""
        return with_change(program.recipe, activation_places(program)[layer].replaced("linear"))


@dataclass(frozen=True)
class RemovedActivationFunction(RemovedActivation):
    """Removes the activation after one layer: the same as ARM, under its name in DeepMutation.

    Args:
        layer: Name of the layer before it.
    """

    code: ClassVar[str] = "AFRs"
    title: ClassVar[str] = "activation function removal, before training"
    source: ClassVar[str] = "DeepMutation"
