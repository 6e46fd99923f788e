"""Members as one network: each layer of all of them in one call, their channels side by side.

For small networks most of a pass is spent on starting calls and on convolutions with few channels; on one core, LeNet-5
and five mutants give gradients three times as fast as one after the other. Where layers are large, one after the other
is as fast or faster (VGG-16: 1.4 times), so the ensemble measures both.
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


def folded(members: Sequence[nn.Module], forward: Forward, inputs: Tensor) -> nn.Module | None:
    """One network for all members, which returns ``(n, members * outputs)``; none where there is no such network.

    All parameters must belong to convolutions, dense layers and batch normalization. Whether everything between them
    keeps channels apart is tried out in double precision: the answers must be those of the members.

    Args:
        members: of one architecture, in evaluation mode.
        forward: how a model is called.
        inputs: a few, on which answers are compared.
    """
    if not all(_simple(module) for module in members[0].modules()):
        return None
    try:
        exact = [copy.deepcopy(member).double() for member in members]
        with torch.no_grad():
            each = torch.cat([forward(member, inputs.to(torch.double, copy=True)) for member in exact], dim=1)
            together = forward(_joined(exact), inputs.to(torch.double, copy=True))
        alike = same(together, each)
    except Exception:  # whatever a model does when it gets more channels than it expects: it cannot be folded
        return None
    return _joined(members) if alike else None


def _simple(module: nn.Module) -> bool:
    """Whether a module has no state of its own, or is a layer that can be folded."""
    if not any(True for _ in chain(module.parameters(recurse=False), module.buffers(recurse=False))):
        return True
    if module._forward_hooks or module._forward_pre_hooks:
        return False
    if isinstance(module, _ConvNd):
        return type(module) in CONVOLUTIONS and module.padding_mode == "zeros"
    return type(module) is nn.Linear or (type(module) in NORMS and module.running_mean is not None)


def _joined(members: Sequence[nn.Module]) -> nn.Module:
    joint = copy.deepcopy(members[0])
    for name, module in [*joint.named_modules(remove_duplicate=False)]:
        same = [member.get_submodule(name) for member in members]
        layer: nn.Module
        if isinstance(module, _ConvNd):
            layer = _Convolutions(same)  # type: ignore[arg-type]
        elif isinstance(module, nn.Linear):
            layer = _Denses(same)  # type: ignore[arg-type]
        elif isinstance(module, _BatchNorm):
            layer = _Norms(same)  # type: ignore[arg-type]
        else:
            continue
        if not name:
            return layer
        joint.set_submodule(name, layer)
    return joint


class _Layers(nn.Module):
    """The same layer of all members; inputs are the same for all, or side by side."""

    def __init__(self, count: int, width: int) -> None:
        super().__init__()
        self.count, self.width = count, width
        self.training = False

    def shared(self, inputs: Tensor) -> bool:
        """Whether members read the same."""
        if inputs.shape[1] not in (self.width, self.count * self.width):
            raise ValueError(f"{inputs.shape[1]} channels for {self.count} members with {self.width}")
        return inputs.shape[1] == self.width


class _Convolutions(_Layers):
    def __init__(self, same: Sequence[_ConvNd]) -> None:
        first = same[0]
        super().__init__(len(same), first.in_channels)
        weight, self.bias = _all(same, "weight"), _all(same, "bias")
        assert weight is not None
        self.weight = weight.to(memory_format=torch.channels_last) if weight.ndim == 4 else weight
        self.call, self.groups = CONVOLUTIONS[type(first)], first.groups
        self.how = (first.stride, first.padding, first.dilation)
        self.kernel = first.kernel_size
        self.entering = weight.ndim == 4 and first.groups == 1 and not isinstance(first.padding, str)

    def forward(self, inputs: Tensor) -> Tensor:
        if not self.shared(inputs):
            return self.call(inputs, self.weight, self.bias, *self.how, self.groups * self.count)
        if self.entering and inputs.device.type == "cpu":
            return _Entering.apply(inputs, self)  # type: ignore[no-any-return, no-untyped-call]
        if self.groups == 1:
            return self.call(inputs, self.weight, self.bias, *self.how)
        return self(inputs.repeat(1, self.count, *[1] * (inputs.ndim - 2)))  # type: ignore[no-any-return]


class _Entering(torch.autograd.Function):
    """A convolution of the inputs themselves, which have few channels: their gradient is faster as a matrix product."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, layer: _Convolutions) -> Tensor:
        ctx.layer, ctx.size = layer, inputs.shape[2:]
        return layer.call(inputs, layer.weight, layer.bias, *layer.how)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        stride, padding, dilation = ctx.layer.how
        patches = ctx.layer.weight.flatten(1).T @ slopes[0].flatten(2)
        return functional.fold(patches, ctx.size, ctx.layer.kernel, dilation, padding, stride), None


class _Denses(_Layers):
    def __init__(self, same: Sequence[nn.Linear]) -> None:
        super().__init__(len(same), same[0].in_features)
        self.weight = torch.stack([layer.weight.detach().T for layer in same])
        bias = _all(same, "bias")
        self.bias = None if bias is None else bias.reshape(len(same), 1, -1)

    def forward(self, inputs: Tensor) -> Tensor:
        if inputs.ndim != 2:
            raise ValueError(f"a dense layer on {inputs.ndim} dimensions")
        each = inputs if self.shared(inputs) else inputs.reshape(len(inputs), self.count, -1).transpose(0, 1)
        each = each.expand(self.count, len(inputs), self.width)
        said = each @ self.weight if self.bias is None else torch.baddbmm(self.bias, each, self.weight)
        return said.transpose(0, 1).reshape(len(inputs), -1)


class _Norms(_Layers):
    def __init__(self, same: Sequence[_BatchNorm]) -> None:
        super().__init__(len(same), same[0].num_features)
        self.facts = [_all(same, name) for name in ("running_mean", "running_var", "weight", "bias")]
        self.eps = same[0].eps

    def forward(self, inputs: Tensor) -> Tensor:
        if self.shared(inputs):
            inputs = inputs.repeat(1, self.count, *[1] * (inputs.ndim - 2))
        mean, variance, weight, bias = self.facts
        return functional.batch_norm(inputs, mean, variance, weight, bias, training=False, eps=self.eps)


def _all(same: Sequence[nn.Module], name: str) -> Tensor | None:
    if getattr(same[0], name) is None:
        return None
    return torch.cat([getattr(layer, name).detach() for layer in same])
