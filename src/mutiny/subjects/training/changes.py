"""Changes that a recipe makes to each newly built network.

They are part of the recipe, so that a trained network can be built again and its weights loaded. Modules are changed in
place: their names and the names of their weights stay, and every reference to a module sees the change.
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
from mutiny.subjects.training.call_sites import CallSite, PatchedForward

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {**ADDED, "exponential": torch.exp}
"""Activations by name, as DeepCrime lists them; ``linear`` is none."""
BATCH_NORM = "batch_norm"


@dataclass(frozen=True)
class NetworkChange(ABC):
    """One change; equal fields mean the same change."""

    @abstractmethod
    def apply(self, model: nn.Module) -> nn.Module:
        """Returns the changed network: the given one, or a new one around it. The caller seeds the generators."""


@dataclass(frozen=True)
class ModuleReplaced(NetworkChange):
    """Replaces a module that keeps the shape of its input by an activation; ``linear`` removes it.

    Args:
        path: Path of the module.
        activation: Name of the activation.

    >>> model = ModuleReplaced("1", "tanh").apply(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    >>> model[1]
    NamedActivation(tanh)
    """

    path: str
    activation: str = "linear"

    def apply(self, model: nn.Module) -> nn.Module:
        """Turns the module into an activation, which has no weights."""
        module = part(model, self.path)
        new = NamedActivation(self.activation, bool(getattr(module, "inplace", False)))
        module.__class__, module.__dict__ = type(new), vars(new.train(module.training))
        return model


@dataclass(frozen=True)
class ModuleFollowed(NetworkChange):
    """Adds an activation after a module, or batch normalization after a linear layer or convolution.

    Args:
        path: Path of the module.
        by: Name of the activation, or ``batch_norm``.
    """

    path: str
    by: str

    def apply(self, model: nn.Module) -> nn.Module:
        """Makes the new module a child of the old one, which calls it with its own output."""
        module = part(model, self.path)
        new = FeatureNorm.after(module) if self.by == BATCH_NORM else NamedActivation(self.by)
        name = next(name for name in map("then{}".format, count(1)) if not hasattr(module, name))
        module.add_module(name, new)
        module.register_forward_hook(partial(_then, name))
        return model


@dataclass(frozen=True)
class Bias(NetworkChange):
    """Adds a bias to a linear layer or convolution, initialized as torch does, or removes it.

    Args:
        path: Path of the layer.
        on: Whether the layer has a bias.
    """

    path: str
    on: bool

    def apply(self, model: nn.Module) -> nn.Module:
        """Adds or removes the parameter."""
        module = part(model, self.path)
        module.register_parameter("bias", self._new(module) if self.on else None)
        return model

    def _new(self, module: nn.Module) -> nn.Parameter:
        assert isinstance(module.weight, Tensor)
        bound = 1 / math.sqrt(init._calculate_fan_in_and_fan_out(module.weight)[0])
        return nn.Parameter(init.uniform_(module.weight.new_empty(_features(module)), -bound, bound))


@dataclass(frozen=True)
class DropoutRate(NetworkChange):
    """Sets the rate of a dropout module, or of the dropout inside a recurrent or attention layer.

    Args:
        path: Path of the module.
        rate: Dropout rate, from 0 to 1.
    """

    path: str
    rate: float

    def apply(self, model: nn.Module) -> nn.Module:
        """Sets the attribute of the module."""
        module = part(model, self.path)
        setattr(module, "p" if hasattr(module, "p") else "dropout", self.rate)
        return model


@dataclass(frozen=True)
class CallChange(NetworkChange):
    """Replaces the calls of a function at one call site.

    Args:
        weight: Weight of the layer before the calls, see `CallSite`.
        function: Name of the torch function.
        number: Number of its calls between that layer and these calls.
    """

    weight: str
    function: str
    number: int

    def apply(self, model: nn.Module) -> nn.Module:
        """Replaces the network's forward function; weights and their names stay."""
        site = CallSite(self.weight, self.function, self.number)
        model.__dict__["forward"] = PatchedForward(model, site, self.replacement)
        return model

    @abstractmethod
    def replacement(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Returns the value of a replaced call."""


@dataclass(frozen=True)
class ActivationCall(CallChange):
    """Replaces calls of an activation function by another activation; ``linear`` removes them."""

    activation: str = "linear"

    def replacement(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Applies the other activation to the first argument, in place if the replaced call was in place."""
        inplace = in_place(func.__name__) or bool(kwargs.get("inplace"))
        return activated(self.activation, argument(args, kwargs, 0, "input"), inplace)


@dataclass(frozen=True)
class DropoutCall(CallChange):
    """Sets the rate, from 0 to 1, of calls of a dropout function."""

    rate: float = 0.5

    def replacement(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Makes the same call with another rate."""
        if len(args) > 1:
            return func(args[0], self.rate, *args[2:], **kwargs)
        return func(*args, **{**kwargs, "p": self.rate})


class NamedActivation(nn.Module):
    """An activation by name, as a module.

    Args:
        name: One of `ACTIVATIONS`.
        inplace: Whether the input is overwritten.
    """

    def __init__(self, name: str, inplace: bool = False) -> None:
        super().__init__()
        if name not in ACTIVATIONS:
            raise BadInput("activation", repr(name), f"one of {', '.join(ACTIVATIONS)}")
        self.name, self.inplace = name, inplace

    def extra_repr(self) -> str:
        """Name of the activation, and whether it works in place."""
        return self.name + (", inplace=True" if self.inplace else "")

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        """Applies the activation to the only tensor among the arguments."""
        return activated(self.name, next(tensors((args, kwargs))), self.inplace)


class FeatureNorm(_BatchNorm):
    """Batch normalization of one axis of a tensor of any number of dimensions."""

    def __init__(self, features: int, axis: int, **kind: Any) -> None:
        super().__init__(features, **kind)
        self.axis = axis

    @classmethod
    def after(cls, module: nn.Module) -> FeatureNorm:
        """Normalization of the channels of a convolution, or of the last axis of a linear layer's output."""
        assert isinstance(module.weight, Tensor)
        axis = 1 if isinstance(module, _ConvNd) else -1
        return cls(_features(module), axis, device=module.weight.device, dtype=module.weight.dtype)

    def _check_input_dim(self, input: Tensor) -> None:
        """Accepts any number of dimensions."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalizes ``input``, whose shape stays."""
        return super().forward(input.movedim(self.axis, 1)).movedim(1, self.axis)


def activated(name: str, x: Tensor, inplace: bool) -> Tensor:
    """Applies an activation to ``x``; in place if ``inplace``."""
    return x.copy_(ACTIVATIONS[name](x.clone())) if inplace else ACTIVATIONS[name](x)


def part(model: nn.Module, path: str) -> nn.Module:
    """The module at ``path``, which is about to be changed.

    The fast path of torch's transformer layers around it is switched off, because it reads weights without calling the
    module.
    """
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
