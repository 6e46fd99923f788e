"""Changes of a newly built network, part of a recipe: so trained networks can be built again and loaded.

Modules are changed where they stand: their names, and those of their weights, stay, and whoever holds them sees it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import init
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from mutiny.core.errors import BadInput
from mutiny.models.structure import ADDED
from mutiny.models.torch_ops import argument, in_place, tensors
from mutiny.subjects.training.spots import Rerouted, Spot

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {**ADDED, "exponential": torch.exp}
"""Activations by name, as DeepCrime lists them; ``linear`` is none."""
BATCH_NORM = "batch_norm"


@dataclass(frozen=True)
class NetworkChange(ABC):
    """One change. Its fields say all about it, so that a store can tell two apart."""

    @abstractmethod
    def apply(self, model: nn.Module) -> nn.Module:
        """The changed network: the given one, changed in place, or a new one around it. The caller seeds."""


@dataclass(frozen=True)
class ModuleReplaced(NetworkChange):
    """An activation in the place of a module from a tensor to a tensor of the same shape; ``linear`` removes it.

    Args:
        path: of the module.
        activation: name of the activation.

    >>> model = ModuleReplaced("1", "tanh").apply(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    >>> model[1]
    NamedActivation(tanh)
    """

    path: str
    activation: str = "linear"

    def apply(self, model: nn.Module) -> nn.Module:
        """The module becomes another one, without weights."""
        module = part(model, self.path)
        new = NamedActivation(self.activation, bool(getattr(module, "inplace", False)))
        module.__class__, module.__dict__ = type(new), vars(new.train(module.training))
        return model


@dataclass(frozen=True)
class ModuleFollowed(NetworkChange):
    """An activation or batch normalization after a linear layer or convolution, or an activation after any module.

    Args:
        path: of the module.
        by: name of the activation, or ``batch_norm``.
    """

    path: str
    by: str

    def apply(self, model: nn.Module) -> nn.Module:
        """The new module becomes a child of the old one, which calls it with what it would have returned."""
        module = part(model, self.path)
        new = FeatureNorm.after(module) if self.by == BATCH_NORM else NamedActivation(self.by)
        name = next(name for name in map("then{}".format, count(1)) if not hasattr(module, name))
        module.add_module(name, new)
        module.register_forward_hook(partial(_then, name))
        return model


@dataclass(frozen=True)
class Bias(NetworkChange):
    """A linear layer or convolution with or without a bias; a new one begins as torch begins it.

    Args:
        path: of the layer.
        on: whether it has a bias.
    """

    path: str
    on: bool

    def apply(self, model: nn.Module) -> nn.Module:
        """The parameter is made or dropped."""
        module = part(model, self.path)
        module.register_parameter("bias", self._new(module) if self.on else None)
        return model

    def _new(self, module: nn.Module) -> nn.Parameter:
        assert isinstance(module.weight, Tensor)
        bound = 1 / math.sqrt(init._calculate_fan_in_and_fan_out(module.weight)[0])
        return nn.Parameter(init.uniform_(module.weight.new_empty(_features(module)), -bound, bound))


@dataclass(frozen=True)
class DropoutRate(NetworkChange):
    """Another rate of a dropout module, or of the dropout inside a recurrent or attention layer.

    Args:
        path: of the module.
        rate: from 0 to 1.
    """

    path: str
    rate: float

    def apply(self, model: nn.Module) -> nn.Module:
        """Its attribute is set."""
        module = part(model, self.path)
        setattr(module, "p" if hasattr(module, "p") else "dropout", self.rate)
        return model


@dataclass(frozen=True)
class CallChange(NetworkChange):
    """Other answers for the calls of a function at one spot, see `Spot`.

    Args:
        weight: of the layer before them.
        function: the torch function.
        number: how many calls of it there were since that layer.
    """

    weight: str
    function: str
    number: int

    def apply(self, model: nn.Module) -> nn.Module:
        """The network's forward function is replaced; weights and their names stay."""
        spot = Spot(self.weight, self.function, self.number)
        model.__dict__["forward"] = Rerouted(model, spot, self.answer)
        return model

    @abstractmethod
    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What such a call returns."""


@dataclass(frozen=True)
class ActivationCall(CallChange):
    """Another activation, by name, in the place of calls of an activation function; ``linear`` removes them."""

    activation: str = "linear"

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The other activation of the first argument; in place where the call was."""
        inside = in_place(func.__name__) or bool(kwargs.get("inplace"))
        return activated(self.activation, argument(args, kwargs, 0, "input"), inside)


@dataclass(frozen=True)
class DropoutCall(CallChange):
    """Another rate, from 0 to 1, of calls of a dropout function."""

    rate: float = 0.5

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The same call with another rate."""
        if len(args) > 1:
            return func(args[0], self.rate, *args[2:], **kwargs)
        return func(*args, **{**kwargs, "p": self.rate})


class NamedActivation(nn.Module):
    """An activation by name, as a module.

    Args:
        name: see `ACTIVATIONS`.
        inplace: whether its input is overwritten.
    """

    def __init__(self, name: str, inplace: bool = False) -> None:
        super().__init__()
        if name not in ACTIVATIONS:
            raise BadInput("activation", repr(name), f"one of {', '.join(ACTIVATIONS)}")
        self.name, self.inplace = name, inplace

    def extra_repr(self) -> str:
        """Which one."""
        return self.name + (", inplace=True" if self.inplace else "")

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Of the only tensor among the arguments."""
        return activated(self.name, next(tensors((args, kwargs))), self.inplace)


class FeatureNorm(_BatchNorm):
    """Batch normalization of one axis of a tensor of any number of dimensions."""

    def __init__(self, features: int, axis: int, **kind: Any) -> None:
        super().__init__(features, **kind)
        self.axis = axis

    @classmethod
    def after(cls, module: nn.Module) -> FeatureNorm:
        """For the channels of a convolution, or the last axis of what a linear layer gives."""
        assert isinstance(module.weight, Tensor)
        axis = 1 if isinstance(module, _ConvNd) else -1
        return cls(_features(module), axis, device=module.weight.device, dtype=module.weight.dtype)

    def _check_input_dim(self, input: Tensor) -> None:
        """Any number of dimensions will do."""

    def forward(self, input: Tensor) -> Tensor:
        """The same shape."""
        return super().forward(input.movedim(self.axis, 1)).movedim(1, self.axis)


def activated(name: str, x: Tensor, inplace: bool) -> Tensor:
    """An activation by name of ``x``, or overwriting it."""
    return x.copy_(ACTIVATIONS[name](x.clone())) if inplace else ACTIVATIONS[name](x)


def part(model: nn.Module, path: str) -> nn.Module:
    """A module to be changed; what torch fuses around it, reading its weights only, calls it from now on."""
    try:
        module = model.get_submodule(path)
    except AttributeError:
        names = ", ".join(name for name, _ in model.named_modules() if name)
        raise BadInput("path", repr(path), f"a module of the network: {names}") from None
    for name, around in model.named_modules():
        if f"{path}.".startswith(f"{name}." if name else ""):
            if isinstance(around, nn.TransformerEncoderLayer):
                around.activation_relu_or_gelu = 0
            elif isinstance(around, nn.TransformerEncoder):
                around.use_nested_tensor = False
    return module


def _then(name: str, module: nn.Module, _args: Any, output: Any) -> Any:
    return module.get_submodule(name)(output)


def _features(module: nn.Module) -> int:
    if isinstance(module, nn.Linear):
        return module.out_features
    if isinstance(module, _ConvNd):
        return module.out_channels
    raise BadInput("path", type(module).__name__, "a linear layer or a convolution")
