"""The original and its mutants, as one thing that an attack can ask for gradients."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from mutiny.errors import BadInput
from mutiny.models import Forward, Patch, default_forward
from mutiny.models.forward import steady
from mutiny.models.patch import WeightEdit

Combine = Literal["gradients", "logits", "probabilities"]
Loss = Callable[[Tensor], Tensor]
"""From outputs ``(n, classes)`` to one loss per input, ``(n,)``."""


class Slope(NamedTuple):
    """Where the loss rises.

    Attributes:
        gradient: of the summed mean loss by the inputs, in their shape.
        losses: each input's, mean over members, ``(n,)``.
        outputs: what the original says, ``(n, ...)``.
    """

    gradient: Tensor
    losses: Tensor
    outputs: Tensor


class Ensemble:
    """Models of which an attack sees the mean.

    Mutants with other weights are copies that share all that is the same with the original; what else a patch changes
    is applied while the mutant runs. The original itself is never changed.

    Args:
        model: in evaluation mode.
        patches: of the mutants; the original is always a member, the first.
        forward: how a model is called.
        combine: what is averaged: ``"gradients"`` of each member's loss (which is the gradient of the mean loss),
            ``"logits"`` before the loss, or ``"probabilities"`` before it.

    >>> model = nn.Linear(2, 2).eval()
    >>> ensemble = Ensemble(model, [])
    >>> ensemble.slope(torch.ones(1, 2), lambda outputs: outputs[:, 0]).gradient == model.weight[0]
    tensor([[True, True]])
    """

    def __init__(
        self,
        model: nn.Module,
        patches: Sequence[Patch],
        forward: Forward = default_forward,
        combine: Combine = "gradients",
    ) -> None:
        if combine not in get_args(Combine):
            raise BadInput("combine", repr(combine), f"one of {', '.join(get_args(Combine))}")
        self.model, self.forward, self.combine = model, forward, combine
        self._members = [_member(model, patch, forward) for patch in (Patch(()), *patches)]

    def __len__(self) -> int:
        return len(self._members)

    def outputs(self, inputs: Any) -> Iterator[Tensor]:
        """What each member says, the original first."""
        for member in self._members:
            with member() as call:
                yield call(inputs)

    def slope(self, inputs: Tensor, loss: Loss) -> Slope:
        """How the mean loss changes with the inputs.

        Only inputs have gradients computed; each member's graph is gone before the next one runs, unless outputs are
        averaged first.
        """
        with steady(), torch.inference_mode(False), torch.enable_grad():
            moving = inputs.detach().clone().requires_grad_()
            if self.combine != "gradients":
                said = torch.stack([*self.outputs(moving)])
                each = loss(self._mean(said))
                return Slope(torch.autograd.grad(each.sum(), moving)[0], each.detach(), said[0].detach())
            total, losses, first = torch.zeros_like(moving), None, None
            for outputs in self.outputs(moving):
                each = loss(outputs)
                total += torch.autograd.grad(each.sum(), moving)[0]
                losses = each.detach() if losses is None else losses + each.detach()
                first = outputs.detach() if first is None else first
            assert losses is not None
            assert first is not None
            return Slope(total / len(self), losses / len(self), first)

    def mean(self, inputs: Any) -> Tensor:
        """The mean of all outputs; of probabilities, their logarithm, so that a loss on logits is theirs."""
        return self._mean(torch.stack([*self.outputs(inputs)]))

    def _mean(self, said: Tensor) -> Tensor:
        if self.combine == "probabilities":
            return said.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(self))
        return said.mean(dim=0)


Member = Callable[[], Any]
"""A context in which a member can be called."""


def _member(model: nn.Module, patch: Patch, forward: Forward) -> Member:
    """Weights go into a copy, everything else is applied while the member is called."""
    weights = tuple(edit for edit in patch.edits if isinstance(edit, WeightEdit))
    rest = Patch(tuple(edit for edit in patch.edits if not isinstance(edit, WeightEdit)), patch.first_layer)
    own = with_weights(model, Patch(weights)) if weights else model
    return lambda: rest.applied(own, forward)


def with_weights(model: nn.Module, patch: Patch) -> nn.Module:
    """A copy with a patch of weights in it, which shares all weights and buffers that the patch leaves alone."""
    touched = {edit.parameter for edit in patch.edits if isinstance(edit, WeightEdit)}
    every = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    changing = {id(tensor) for name, tensor in every if name in touched}
    twin = copy.deepcopy(model, {id(tensor): tensor for _, tensor in every if id(tensor) not in changing})
    weights = dict(twin.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for edit in patch.edits:
            assert isinstance(edit, WeightEdit)
            tensor = weights[edit.parameter].data
            tensor.put_(torch.from_numpy(edit.indices).to(tensor.device), edit.values.to(tensor))
    return twin
