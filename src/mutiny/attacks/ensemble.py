"""The original and its mutants, as one thing that an attack can ask for gradients."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from mutiny.errors import BadInput
from mutiny.models import Forward, Patch, default_forward
from mutiny.models.forward import steady
from mutiny.models.patch import WeightEdit

Combine = Literal["gradients", "logits", "probabilities"]
Loss = Callable[[Tensor], Tensor]
"""From outputs ``(n, classes)`` to one loss per input, ``(n,)``."""


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
    >>> ensemble.gradient(torch.ones(1, 2), lambda outputs: outputs[:, 0])[0] == model.weight[0]
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

    def gradient(self, inputs: Tensor, loss: Loss) -> tuple[Tensor, Tensor]:
        """The gradient of the summed loss by the inputs, and each input's mean loss ``(n,)``.

        Only inputs have gradients computed; each member's graph is gone before the next one runs, unless outputs are
        averaged first.
        """
        with steady(), torch.inference_mode(False), torch.enable_grad():
            moving = inputs.detach().clone().requires_grad_()
            if self.combine == "gradients":
                total, losses = torch.zeros_like(moving), torch.zeros(len(moving), device=moving.device)
                for outputs in self.outputs(moving):
                    each = loss(outputs)
                    total += torch.autograd.grad(each.sum(), moving)[0]
                    losses += each.detach()
                return total / len(self), losses / len(self)
            each = loss(self.mean(moving))
            return torch.autograd.grad(each.sum(), moving)[0], each.detach()

    def mean(self, inputs: Any) -> Tensor:
        """The mean of all outputs; of probabilities, their logarithm, so that a loss on logits is theirs."""
        said = torch.stack([*self.outputs(inputs)])
        if self.combine == "probabilities":
            return said.log_softmax(dim=-1).logsumexp(dim=0) - torch.tensor(float(len(self))).log()
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
