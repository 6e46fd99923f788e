"""The original and its mutants, as one thing that an attack can ask for gradients."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward, Patch, default_forward
from mutiny.models.forward import steady
from mutiny.models.undo import Undo
from mutiny.subjects.data.balls import widest
from mutiny.subjects.inference.calibration import Facts, key_of, remembered
from mutiny.verbs.attack.ensemble_member import Member
from mutiny.verbs.attack.fused_ensemble import folded

Combine = Literal["gradients", "logits", "probabilities"]
ENOUGH, ALIKE, PASSES = 32, 4, 3
"""With so many inputs it is measured whether joining members is faster; answers of so many are compared before; the
fastest of so many passes counts."""
SINGLE = 4
"""Bytes of a number in single precision."""
DIFFERENTIABLE = "a model that can be differentiated by its inputs"
BPDA = (
    "Put the part without a gradient into a torch.autograd.Function whose backward pass lets gradients through (BPDA), "
    "as mutiny.verbs.attack.defenses does; docs/attack.md, Defenses."
)
Loss = Callable[[Tensor], Tensor]
"""From outputs ``(n, classes)``, in double precision where there is one, to one loss per input, ``(n,)``."""


class Slope(NamedTuple):
    """Where the loss rises.

    A model that is very sure has gradients below what its numbers can hold. So each input's are computed for a loss
    that is divided by a power of two, which leaves their direction as it is.

    Attributes:
        direction: the gradient of the summed mean loss by the inputs, divided by ``scale``; in their shape.
        scale: of each input, ``(n,)``.
        losses: each input's, mean over members, ``(n,)``.
        outputs: what the original says, ``(n, ...)``.
    """

    direction: Tensor
    scale: Tensor
    losses: Tensor
    outputs: Tensor

    @property
    def gradient(self) -> Tensor:
        """Of the summed mean loss by the inputs; 0 where it is too small for the inputs' type."""
        return self.direction * _fit(self.scale, self.direction)

    def plus(self, other: Slope) -> Slope:
        """The slope of the sum of both losses; outputs are those of the first."""
        scale = torch.maximum(self.scale, other.scale)
        mine, theirs = (one.direction * _fit(one.scale / scale, one.direction) for one in (self, other))
        return Slope(mine + theirs, scale, self.losses + other.losses, self.outputs)


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
        undefined: gradients of one input, among those, that were not finite, and were taken for 0 where they were not.

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
        self.passes = self.undefined = 0

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
                self.join(moving, loss)
            if self._joint is None and self.combine == "gradients":
                return self._one_by_one(moving, loss)
            found = _slope(self._said(moving), moving, partial(self._loss, loss=loss), rows=1)
            if self.combine == "gradients" and not bool(found.direction.isfinite().all()):
                return self._one_by_one(moving, loss)  # one member's must not spoil those of the others
            return self._finite(found._replace(outputs=found.outputs[0]))

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
        total = None
        for outputs in self.outputs(moving):
            one = self._finite(_slope(outputs, moving, loss))
            total = one if total is None else total.plus(one)
        assert total is not None
        return total._replace(direction=total.direction / len(self), losses=total.losses / len(self))

    def _loss(self, said: Tensor, loss: Loss) -> Tensor:
        """Of all members together, from their outputs ``(members, n, ...)``."""
        if self.combine == "gradients":
            return torch.stack([loss(one) for one in said]).mean(dim=0)
        return loss(self._mean(said))

    def _finite(self, found: Slope) -> Slope:
        """With 0 where a gradient is not a number, or endless."""
        bad = ~found.direction.isfinite()
        if not bool(bad.any()):
            return found
        self.undefined += int(bad.flatten(1).any(dim=1).sum())
        return found._replace(direction=found.direction.masked_fill(bad, 0))

    def join(self, inputs: Tensor, loss: Loss, faster: bool | None = None) -> bool:
        """Makes one network of all members that can be part of it, if that is faster; otherwise it stays as it is.

        Args:
            inputs: some that will be asked about.
            loss: likewise.
            faster: what was found before, here or elsewhere; measured, and remembered, if not given.

        Returns:
            Whether it was made. One network may round otherwise, so whoever goes on elsewhere must do the same.
        """
        self._tried = True
        few = inputs[:ALIKE].detach()
        if faster is False:
            return False
        with steady(), torch.inference_mode(False), torch.enable_grad():
            weights = [member.in_weights(self.forward, few) for member in self._members]
            inside = [model for model in weights if model is not None]
            joint = folded(inside, self.forward, few) if len(inside) > 1 else None
            if joint is None:
                return False
            self._outside = [member for member, model in zip(self._members, weights, strict=True) if model is None]
            found = self._is_faster(joint, inputs, loss) if faster is None else faster
        self._joint = joint if found else None
        return found

    def _is_faster(self, joint: nn.Module, inputs: Tensor, loss: Loss) -> bool:
        """Whether one network is faster than all members one by one; what is tried does not count."""
        before = self.passes, self.undefined

        def measured() -> Facts:
            took = {}
            for name, way in (("one by one", None), ("joined", joint)):
                self._joint = way
                took[name] = min(_seconds(lambda: self.slope(inputs, loss)) for _ in range(PASSES))
            return {"joined": took["joined"] < took["one by one"]}

        key = key_of(self.model, inputs, "ensemble", len(self), self.combine)
        faster: bool = remembered(key, measured, lambda found: isinstance(found.get("joined"), bool))["joined"]
        self.passes, self.undefined = before
        return faster

    def _said(self, inputs: Any) -> Tensor:
        """Outputs of all members, ``(members, n, ...)``."""
        if self._joint is None:
            return torch.stack([*self.outputs(inputs)])
        inside = len(self) - len(self._outside)
        said = self.forward(self._joint, inputs.clone()).chunk(inside, dim=1)  # the original is the first of them
        return torch.stack([*said, *self._each(self._outside, inputs)])

    def _each(self, members: Sequence[Member], inputs: Any) -> Iterator[Tensor]:
        for model, patch in members:
            with patch.applied(model, self.forward) as call:
                yield call(inputs.clone())  # some models write into what they are given

    def mean(self, inputs: Any) -> Tensor:
        """The mean of all outputs; of probabilities, their logarithm, so that a loss on logits is theirs."""
        self.passes += len(inputs) * len(self)
        return self._mean(self._said(inputs))

    def _mean(self, said: Tensor) -> Tensor:
        if self.combine == "probabilities":
            return said.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(self))
        return said.mean(dim=0)


def _slope(said: Tensor, moving: Tensor, loss: Loss, rows: int = 0) -> Slope:
    """How a loss of outputs changes with the inputs; ``rows`` is the dimension of outputs that counts inputs."""
    outputs = widest(said.detach()).requires_grad_()
    losses = loss(outputs)
    (pull,) = torch.autograd.grad(losses.sum(), outputs)
    largest = pull.abs().nan_to_num(0, 0, 0).amax(dim=[at for at in range(pull.ndim) if at != rows])
    scale = (largest / largest.frexp().mantissa).nan_to_num(0).clamp_min(torch.finfo(largest.dtype).tiny)
    shape = [-1 if at == rows else 1 for at in range(pull.ndim)]
    direction = _gradient(said, moving, (pull / scale.reshape(shape)).to(said.dtype))
    return Slope(direction, scale, losses.detach(), said.detach())


def _gradient(said: Tensor, moving: Tensor, pull: Tensor) -> Tensor:
    """Of outputs by inputs, in single precision at least."""
    found = torch.autograd.grad(said, moving, pull, allow_unused=True)[0] if said.requires_grad else None
    if found is None:
        raise BadInput("model", "one whose answers have no gradient by their inputs", DIFFERENTIABLE, BPDA)
    return found if found.element_size() >= SINGLE else found.float()


def _fit(values: Tensor, inputs: Tensor) -> Tensor:
    """One number per input, in a shape and type that fit them."""
    return values.to(inputs.dtype).reshape(-1, *[1] * (inputs.ndim - 1))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
