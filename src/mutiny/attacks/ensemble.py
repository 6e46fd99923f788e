"""The original and its mutants, as one thing that an attack can ask for gradients."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from mutiny.attacks.folding import folded
from mutiny.attacks.member import Member
from mutiny.errors import BadInput
from mutiny.evaluation.remembered import Facts, key_of, remembered
from mutiny.models import Forward, Patch, default_forward
from mutiny.models.forward import steady
from mutiny.models.undo import Undo

Combine = Literal["gradients", "logits", "probabilities"]
ENOUGH, ALIKE, PASSES = 32, 4, 3
"""With so many inputs it is measured whether joining members is faster; answers of so many are compared before; the
fastest of so many passes counts."""
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
    is applied while the mutant runs. The original itself is never changed. Where members can be one network, and that
    is faster here, they are; whether it is, is measured once and remembered.

    Args:
        model: in evaluation mode.
        patches: of the mutants; the original is always a member, the first.
        forward: how a model is called.
        combine: what is averaged: ``"gradients"`` of each member's loss (which is the gradient of the mean loss),
            ``"logits"`` before the loss, or ``"probabilities"`` before it.

    Attributes:
        passes: inputs that the ensemble was asked about so far, once for each member.

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
        self._members = [Member.of(model, patch) for patch in (Patch(()), *patches)]
        self._joint: nn.Module | None = None
        self._outside: list[Member] = []
        self._tried = not patches
        self.passes = 0

    def __len__(self) -> int:
        return len(self._members)

    def outputs(self, inputs: Any) -> Iterator[Tensor]:
        """What each member says, the original first."""
        return self._each(self._members, inputs)

    def slope(self, inputs: Tensor, loss: Loss) -> Slope:
        """How the mean loss changes with the inputs; nothing but inputs has gradients computed."""
        self.passes += len(inputs) * len(self)
        with steady(), torch.inference_mode(False), torch.enable_grad():
            moving = inputs.detach().clone().requires_grad_()
            if not self._tried and len(moving) >= ENOUGH:
                self._join(moving, loss)
            if self._joint is None and self.combine == "gradients":
                return self._one_by_one(moving, loss)
            said = self._said(moving)
            if self.combine == "gradients":
                each = torch.stack([loss(one) for one in said]).mean(dim=0)
            else:
                each = loss(self._mean(said))
            return Slope(torch.autograd.grad(each.sum(), moving)[0], each.detach(), said[0].detach())

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """While this lasts, no weight of any member asks for gradients."""
        with Undo() as undo:
            for weight in {id(one): one for member in self._members for one in member.model.parameters()}.values():
                if weight.requires_grad:
                    undo.add(weight.requires_grad_, True)
                    weight.requires_grad_(False)
            yield

    def _one_by_one(self, moving: Tensor, loss: Loss) -> Slope:
        """Each member's graph is gone before the next one runs."""
        total, losses, first = torch.zeros_like(moving), None, None
        for outputs in self.outputs(moving):
            each = loss(outputs)
            total += torch.autograd.grad(each.sum(), moving)[0]
            losses = each.detach() if losses is None else losses + each.detach()
            first = outputs.detach() if first is None else first
        assert losses is not None
        assert first is not None
        return Slope(total / len(self), losses / len(self), first)

    def _join(self, inputs: Tensor, loss: Loss) -> None:
        """Makes one network of all members that can be part of it, if that is faster."""
        self._tried = True
        few = inputs[:ALIKE].detach()
        weights = [member.in_weights(self.forward, few) for member in self._members]
        inside = [model for model in weights if model is not None]
        joint = folded(inside, self.forward, few) if len(inside) > 1 else None
        if joint is None:
            return
        self._outside = [member for member, model in zip(self._members, weights, strict=True) if model is None]

        def measured() -> Facts:
            took = {}
            for name, way in (("one by one", None), ("joined", joint)):
                self._joint = way
                took[name] = min(_seconds(lambda: self.slope(inputs, loss)) for _ in range(PASSES))
            return {"joined": took["joined"] < took["one by one"]}

        key = key_of(self.model, inputs, "ensemble", len(self), self.combine)
        faster = remembered(key, measured, lambda found: isinstance(found.get("joined"), bool))["joined"]
        self._joint = joint if faster else None

    def _said(self, inputs: Any) -> Tensor:
        """Outputs of all members, ``(members, n, ...)``."""
        if self._joint is None:
            return torch.stack([*self.outputs(inputs)])
        inside = len(self) - len(self._outside)
        said = self.forward(self._joint, inputs).chunk(inside, dim=1)  # the original is the first of them
        return torch.stack([*said, *self._each(self._outside, inputs)])

    def _each(self, members: Sequence[Member], inputs: Any) -> Iterator[Tensor]:
        for model, patch in members:
            with patch.applied(model, self.forward) as call:
                yield call(inputs)

    def mean(self, inputs: Any) -> Tensor:
        """The mean of all outputs; of probabilities, their logarithm, so that a loss on logits is theirs."""
        self.passes += len(inputs) * len(self)
        return self._mean(self._said(inputs))

    def _mean(self, said: Tensor) -> Tensor:
        if self.combine == "probabilities":
            return said.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(self))
        return said.mean(dim=0)


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
