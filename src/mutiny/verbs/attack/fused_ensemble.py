"""Members of an ensemble fused into one network: one call per layer, with the channels of all members side by side.

Small networks spend most of a pass on starting calls and on convolutions with few channels; on one core, LeNet-5 and
five mutants compute gradients three times as fast fused as one by one. Networks with large layers are as fast or faster
one by one (VGG-16: 1.4 times), so the ensemble measures both.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.conv import _ConvNd

from mutiny.models import Forward
from mutiny.verbs.attack.ensemble_member import same

CONVOLUTIONS: dict[type[nn.Module], Callable[..., Tensor]] = {
    nn.Conv1d: functional.conv1d,
    nn.Conv2d: functional.conv2d,
    nn.Conv3d: functional.conv3d,
}
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def fuse(members: Sequence[nn.Module], forward: Forward, inputs: Tensor) -> nn.Module | None:
    """Returns one network for all members, with outputs ``(n, members * outputs)``; none if they cannot be fused.

    All parameters must belong to convolutions, dense layers and batch normalization. Operations between them must keep
    channels separate; this is checked by comparing outputs with those of the members in double precision.

    Args:
        members: Models of one architecture, in evaluation mode.
        forward: Function that calls a model.
        inputs: A few inputs, on which outputs are compared.
    """
    if not all(_can_be_fused(module) for module in members[0].modules()):
        return None
    try:
        exact = [copy.deepcopy(member).double() for member in members]
        with torch.no_grad():
            expected = torch.cat([forward(member, inputs.to(torch.double, copy=True)) for member in exact], dim=1)
            outputs = forward(_fused(exact), inputs.to(torch.double, copy=True))
        alike = same(outputs, expected)
    except Exception:  # a model may raise anything if it receives more channels than it expects
        return None
    return _fused(members) if alike else None


def _can_be_fused(module: nn.Module) -> bool:
    """Whether a module has no state of its own, or is a layer that can be fused."""
    if not any(True for _ in chain(module.parameters(recurse=False), module.buffers(recurse=False))):
        return True
    if module._forward_hooks or module._forward_pre_hooks:
        return False
    if isinstance(module, _ConvNd):
        return type(module) in CONVOLUTIONS and module.padding_mode == "zeros"
    return type(module) is nn.Linear or (type(module) in NORMS and module.running_mean is not None)


def _fused(members: Sequence[nn.Module]) -> nn.Module:
    network = copy.deepcopy(members[0])
    for name, module in [*network.named_modules(remove_duplicate=False)]:
        kind = next((fused for layer, fused in FUSED.items() if isinstance(module, layer)), None)
        if kind is None:
            continue
        layer = kind([member.get_submodule(name) for member in members])
        if not name:
            return layer
        network.set_submodule(name, layer)
    return network


class _FusedLayer(nn.Module):
    """The same layer of all members; inputs are the same for all, or side by side."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.count, self.width = count, width
        self.training = False

    def shared(self, inputs: Tensor) -> bool:
        """Whether all members read the same inputs."""
        if inputs.shape[1] not in (self.width, self.count * self.width):
            raise ValueError(f"{inputs.shape[1]} channels for {self.count} members with {self.width}")
        return inputs.shape[1] == self.width


class _FusedConvolution(_FusedLayer):
    def __init__(self, layers: Sequence[_ConvNd]) -> None:
        first = layers[0]
        super().__init__(len(layers), first.in_channels)
        weight, self.bias = _concatenated(layers, "weight"), _concatenated(layers, "bias")
        assert weight is not None
        self.weight = weight.to(memory_format=torch.channels_last) if weight.ndim == 4 else weight
        self.call, self.groups = CONVOLUTIONS[type(first)], first.groups
        self.geometry = (first.stride, first.padding, first.dilation)
        self.kernel = first.kernel_size
        self.as_matrix_product = weight.ndim == 4 and first.groups == 1 and not isinstance(first.padding, str)

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.shared(inputs):
            return self.call(inputs, self.weight, self.bias, *self.geometry, self.groups * self.count)
        if self.as_matrix_product and inputs.device.type == "cpu":
            outputs: Tensor = _FirstConvolution.apply(inputs, self)  # type: ignore[no-untyped-call]
            return outputs
        if self.groups == 1:
            return self.call(inputs, self.weight, self.bias, *self.geometry)
        return self.forward(inputs.repeat(1, self.count, *[1] * (inputs.ndim - 2)))


class _FirstConvolution(torch.autograd.Function):
    """First convolution of a network; as its inputs have few channels, their gradient is faster as a matrix product."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, layer: _FusedConvolution) -> Tensor:
        ctx.layer, ctx.size = layer, inputs.shape[2:]
        return layer.call(inputs, layer.weight, layer.bias, *layer.geometry)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        stride, padding, dilation = ctx.layer.geometry
        patches = ctx.layer.weight.flatten(1).T @ gradients[0].flatten(2)
        return functional.fold(patches, ctx.size, ctx.layer.kernel, dilation, padding, stride), None


class _FusedDense(_FusedLayer):
    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        super().__init__(len(layers), layers[0].in_features)
        self.weight = torch.stack([layer.weight.detach().T for layer in layers])
        bias = _concatenated(layers, "bias")
        self.bias = None if bias is None else bias.reshape(len(layers), 1, -1)

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.ndim != 2:
            raise ValueError(f"a dense layer on {inputs.ndim} dimensions")
        each = inputs if self.shared(inputs) else inputs.reshape(len(inputs), self.count, -1).transpose(0, 1)
        each = each.expand(self.count, len(inputs), self.width)
        outputs = each @ self.weight if self.bias is None else torch.baddbmm(self.bias, each, self.weight)
        return outputs.transpose(0, 1).reshape(len(inputs), -1)


class _FusedNorm(_FusedLayer):
    def __init__(self, layers: Sequence[_BatchNorm]) -> None:
        super().__init__(len(layers), layers[0].num_features)
        self.tensors = [_concatenated(layers, name) for name in ("running_mean", "running_var", "weight", "bias")]
        self.eps = layers[0].eps

    def forward(self, inputs: Tensor) -> Tensor:
        if self.shared(inputs):
            inputs = inputs.repeat(1, self.count, *[1] * (inputs.ndim - 2))
        mean, variance, weight, bias = self.tensors
        return functional.batch_norm(inputs, mean, variance, weight, bias, training=False, eps=self.eps)


def _concatenated(layers: Sequence[nn.Module], name: str) -> Tensor | None:
    if getattr(layers[0], name) is None:
        return None
    return torch.cat([getattr(layer, name).detach() for layer in layers])


FUSED: dict[type[nn.Module], Callable[[Sequence[Any]], nn.Module]] = {
    _ConvNd: _FusedConvolution,
    nn.Linear: _FusedDense,
    _BatchNorm: _FusedNorm,
}
"""Class of the fused layer by class of the layer."""
