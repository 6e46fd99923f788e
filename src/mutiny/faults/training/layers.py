"""Operators that change one layer before training: regularizers, initializers, biases, dropout, whole layers.

RAW, RCW, RRW, WCI, WAB, WRB and RCD are DeepCrime's, LRs and LAs DeepMutation's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.layers.sites import same_shape_sites
from mutiny.faults.training.base import Program
from mutiny.faults.training.function_calls import FunctionCall, function_calls, names_by_layer
from mutiny.faults.training.layer_operator import (
    WHOLE,
    LayerOperator,
    hidden_modules,
    path_of,
    places_of,
    plain_modules,
    weighted_modules,
    with_change,
)
from mutiny.models import ModuleEdit, Patch
from mutiny.models.dropout import BY_CHANNEL, BY_UNIT
from mutiny.models.torch_ops import ATTENTION, RECURRENT, argument
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.call_sites import CallSite
from mutiny.subjects.training.changes import BATCH_NORM, Bias, DropoutCall, DropoutRate, ModuleFollowed, ModuleReplaced
from mutiny.subjects.training.initializers import INITIALIZERS
from mutiny.subjects.training.loop import built

REGULARIZERS = {"l1": (0.01, 0.0), "l2": (0.0, 0.01), "l1_l2": (0.01, 0.01)}
"""Factors of the absolute and squared weights, by Keras's name of the regularizer; 0.01 is Keras's default."""


@dataclass(frozen=True)
class SetRegularizer(LayerOperator):
    """Base class of the operators that give a layer a regularizer.

    Args:
        layer: Path of the layer's module.
        kind: Kind of regularizer: l1, l2 or l1_l2.
    """

    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "kind"
    options: ClassVar[tuple[Any, ...]] = tuple(REGULARIZERS)

    kind: str | None = None

    def changed(self, program: Program, layer: str) -> Recipe:
        """Sets the regularizer."""
        factors = {path_of(program.view, layer): REGULARIZERS[str(self.kind)]}
        return replace(program.recipe, regularizers={**program.recipe.regularizers, **factors})


@dataclass(frozen=True)
class AddedRegularizer(SetRegularizer):
    """Adds 0.01 times the absolute or squared weights of one layer that has no regularizer to the loss. DeepCrime.

    Args:
        layer: Path of the layer's module.
        kind: Kind of regularizer: l1 (absolute values), l2 (squares) or l1_l2 (both).
    """

    code: ClassVar[str] = "RAW"
    title: ClassVar[str] = "add a regularizer"

    def places(self, program: Program) -> dict[str, None]:
        """Layers without a regularizer, also on a module around them."""
        regularized = [path for path, factors in program.recipe.regularizers.items() if any(factors)]
        paths = {name: path_of(program.view, name) for name in weighted_modules(program.view)}
        free = [name for name, path in paths.items() if not any(_contains(outer, path) for outer in regularized)]
        return places_of(free, "every layer has a regularizer")


def _contains(outer: str, path: str) -> bool:
    return not outer or f"{path}.".startswith(f"{outer}.")


@dataclass(frozen=True)
class ChangedRegularizer(SetRegularizer):
    """Changes the kind of one layer's regularizer; the factor becomes 0.01. DeepCrime.

    Args:
        layer: Path of the layer's module.
        kind: Kind of regularizer: l1 (absolute values of weights), l2 (squares) or l1_l2 (both).
    """

    code: ClassVar[str] = "RCW"
    title: ClassVar[str] = "change a regularizer"

    def places(self, program: Program) -> dict[str, str]:
        """Layers with a regularizer."""
        return _regularizers(program.recipe)


@dataclass(frozen=True)
class RemovedRegularizer(LayerOperator):
    """Removes the regularizer of one layer. DeepCrime.

    Args:
        layer: Path of the layer's module.
    """

    code: ClassVar[str] = "RRW"
    title: ClassVar[str] = "remove a regularizer"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, str]:
        """Layers with a regularizer."""
        return _regularizers(program.recipe)

    def changed(self, program: Program, layer: str) -> Recipe:
        """Removes the regularizer."""
        path = path_of(program.view, layer)
        others = {name: factors for name, factors in program.recipe.regularizers.items() if name != path}
        return replace(program.recipe, regularizers=others)


def _regularizers(recipe: Recipe) -> dict[str, str]:
    """Kind of regularizer by name of the layer, for all layers that have one."""
    kinds = {(True, False): "l1", (False, True): "l2", (True, True): "l1_l2"}
    signs = {path or WHOLE: (l1 > 0, l2 > 0) for path, (l1, l2) in recipe.regularizers.items()}
    by_layer = {name: kinds[sign] for name, sign in signs.items() if any(sign)}
    if not by_layer:
        also = " (weight_decay, which applies to all weights, does not count)" if recipe.weight_decay else ""
        raise NotApplicable(f"no layer has a regularizer{also}")
    return by_layer


@dataclass(frozen=True)
class ChangedInitializer(LayerOperator):
    """Changes the initializer of the weights of one layer. DeepCrime.

    The current initializer of a layer is known, and omitted, only if the recipe's ``initializers`` name it.

    Args:
        layer: Path of the layer's module.
        initializer: Name of the initializer, see :mod:`mutiny.subjects.training.initializers`.
    """

    code: ClassVar[str] = "WCI"
    title: ClassVar[str] = "change an initializer"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "initializer"
    options: ClassVar[tuple[Any, ...]] = tuple(INITIALIZERS)

    initializer: str | None = None

    def places(self, program: Program) -> dict[str, str | None]:
        """All layers with weights."""
        view, known = program.view, program.recipe.initializers
        return {name: known.get(path_of(view, name)) for name in weighted_modules(view)}

    def changed(self, program: Program, layer: str) -> Recipe:
        """Sets the initializer after all others, because these may apply to modules around the layer."""
        path = path_of(program.view, layer)
        others = {name: other for name, other in program.recipe.initializers.items() if name != path}
        return replace(program.recipe, initializers={**others, path: str(self.initializer)})


@dataclass(frozen=True)
class BiasOperator(LayerOperator):
    """Base class of the operators that add or remove a bias.

    Attributes:
        adds: Whether the bias is added or removed.
    """

    source: ClassVar[str] = "DeepCrime"
    adds: ClassVar[bool]

    def places(self, program: Program) -> dict[str, None]:
        """Layers without a bias, or with one if it is to be removed."""
        modules = plain_modules(program.view).items()
        names = [name for name, module in modules if (module.bias is None) == self.adds]
        return places_of(names, "every layer has a bias" if self.adds else "no layer has a bias")

    def changed(self, program: Program, layer: str) -> Recipe:
        """Adds or removes the bias."""
        return with_change(program.recipe, Bias(path_of(program.view, layer), self.adds))


@dataclass(frozen=True)
class AddedBias(BiasOperator):
    """Adds a bias to one linear layer or convolution without one, initialized as torch does. DeepCrime.

    Args:
        layer: Path of the layer's module.
    """

    code: ClassVar[str] = "WAB"
    title: ClassVar[str] = "add a bias"
    adds: ClassVar[bool] = True


@dataclass(frozen=True)
class RemovedBias(BiasOperator):
    """Removes the bias of one linear layer or convolution. DeepCrime.

    Args:
        layer: Path of the layer's module.
    """

    code: ClassVar[str] = "WRB"
    title: ClassVar[str] = "remove a bias"
    adds: ClassVar[bool] = False


DROPOUT = BY_UNIT | BY_CHANNEL
MAY_DROP = DROPOUT | {f"{name}_" for name in DROPOUT} | RECURRENT | {ATTENTION}
"""Functions that drop units, or can do so internally."""


@dataclass(frozen=True)
class ChangedDropoutRate(LayerOperator):
    """Changes the rate of one dropout module or function, or of a recurrent or attention layer's dropout. DeepCrime.

    Args:
        layer: Path of the module; for a function, name of the layer before it.
        rate: Share of the units that are dropped: 0.125, 0.25, 0.75 and 1 are tried, but any from 0 to 1 can be given.
    """

    code: ClassVar[str] = "RCD"
    title: ClassVar[str] = "change the rate of dropout"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "rate"
    options: ClassVar[tuple[Any, ...]] = (0.125, 0.25, 0.75, 1.0)

    rate: float | None = None

    def check(self, chosen: Any) -> None:
        """Raises `BadInput` unless the rate is between 0 and 1."""
        if isinstance(chosen, bool) or not isinstance(chosen, (int, float)) or not 0 <= chosen <= 1:
            raise BadInput("RCD rate", repr(chosen), "a number between 0 and 1")

    def places(self, program: Program) -> dict[str, float]:
        """Dropout that acts in training."""
        return {name: rate for name, (rate, _) in _dropouts(program).items()}

    def changed(self, program: Program, layer: str) -> Recipe:
        """Sets the rate."""
        assert self.rate is not None
        _, where = _dropouts(program)[layer]
        change = DropoutRate(where, self.rate) if isinstance(where, str) else DropoutCall(*where, self.rate)
        return with_change(program.recipe, change)


def _dropouts(program: Program) -> dict[str, tuple[float, str | CallSite]]:
    """Rate, and path or site, of everything that drops units in a training pass."""
    with seeded(0):
        model = built(program.recipe).train()
    dropouts: dict[str, tuple[float, str | CallSite]] = {}
    functions: dict[CallSite, float] = {}
    for call in function_calls(program, model, MAY_DROP):
        module = None if call.path is None else model.get_submodule(call.path)
        if isinstance(module, _DropoutNd):
            dropouts[str(call.path)] = module.p, str(call.path)
        elif isinstance(module, (nn.RNNBase, nn.MultiheadAttention)):
            if module.dropout > 0 and getattr(module, "num_layers", 2) > 1:
                dropouts[str(call.path)] = module.dropout, str(call.path)
        elif module is not None and call.site.function in DROPOUT and _acts_in_training(call):
            functions[call.site] = float(argument(call.args, call.kwargs, 1, "p", 0.5))
    layers = {weight.parameter: layer.name for layer in program.view.layers for weight in layer.weights}
    names = names_by_layer([layers.get(site.weight, site.weight) for site in functions], functions)
    dropouts |= {name: (rate, site) for name, (site, rate) in zip(names, functions.items(), strict=True)}
    if not dropouts:
        raise NotApplicable("no dropout layer")
    return dropouts


def _acts_in_training(call: FunctionCall) -> bool:
    return bool(argument(call.args, call.kwargs, 2, "training", call.kwargs.get("train", True)))


@dataclass(frozen=True)
class RemovedLayer(LayerOperator):
    """Removes one layer whose output has the shape of its input, neither the first nor the last. DeepMutation.

    Linear layers, convolutions and normalizations are such layers; activations have their own operator (AFRs).

    Args:
        layer: Path of the module.
        inactive: Whether dropout, which has its own operator (RCD), and identity modules count as layers, too.
    """

    code: ClassVar[str] = "LRs"
    title: ClassVar[str] = "layer removal, before training"
    source: ClassVar[str] = "DeepMutation"

    inactive: bool = False

    def places(self, program: Program) -> dict[str, None]:
        """Layers that keep the shape."""
        return dict.fromkeys(site.path for site in same_shape_sites(program.view, self.inactive))

    def changed(self, program: Program, layer: str) -> Recipe:
        """Removes the layer."""
        return with_change(program.recipe, ModuleReplaced(layer))


@dataclass(frozen=True)
class AddedLayer(LayerOperator):
    """Adds ReLU or batch normalization right after one hidden linear layer or convolution. DeepMutation.

    ReLU is omitted where it would change nothing, such as before another ReLU.

    Args:
        layer: Path of the module after which it is added.
        addition: Layer to add: relu or batch_norm.
    """

    code: ClassVar[str] = "LAs"
    title: ClassVar[str] = "layer addition, before training"
    source: ClassVar[str] = "DeepMutation"
    choice: ClassVar[str | None] = "addition"
    options: ClassVar[tuple[Any, ...]] = ("relu", BATCH_NORM)

    addition: str | None = None

    def places(self, program: Program) -> dict[str, str | None]:
        """Hidden layers."""
        hidden = hidden_modules(program.view)
        asked = [path for path in hidden if self.layer in (None, path)]
        return dict.fromkeys(hidden) | {path: "relu" for path in asked if _relu_changes_nothing(program, path)}

    def changed(self, program: Program, layer: str) -> Recipe:
        """Adds the layer."""
        return with_change(program.recipe, ModuleFollowed(layer, str(self.addition)))


def _relu_changes_nothing(program: Program, path: str, inputs: int = 32, noise: float = 0.1) -> bool:
    """Whether ReLU after a module leaves the outputs of a training pass unchanged, whatever the weights are."""
    with seeded(0), torch.no_grad():
        model = built(program.recipe).train()
        for parameter in model.parameters():  # parameters that start at zero would hide the change
            parameter.add_(noise * torch.randn_like(parameter))

    def outputs(*edits: ModuleEdit) -> Tensor:
        with seeded(0), torch.no_grad(), Patch(edits).applied(model, program.forward) as forward:
            return forward(program.data.first(inputs))

    return torch.equal(outputs(), outputs(ModuleEdit(path, "follow", "relu")))
