"""Ensemble of the original and its mutants, with the mean gradient that attacks follow."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from mutiny.core.checks import check_one_of
from mutiny.core.errors import BadInput
from mutiny.models import Forward, Patch, default_forward
from mutiny.models.forward import steady
from mutiny.models.in_use import in_use
from mutiny.models.undo import Undo
from mutiny.subjects.data.balls import widest
from mutiny.subjects.inference.calibration import Facts, key_of, remembered
from mutiny.verbs.attack.ensemble_member import Member
from mutiny.verbs.attack.fused_ensemble import fuse

Combine = Literal["gradients", "logits", "probabilities"]
ENOUGH = 32
"""Smallest number of inputs for measuring whether a fused network is faster."""
COMPARED, PASSES = 4, 3
"""Number of inputs on which the outputs of a fused network are checked, and number of timed passes; the fastest counts.
"""
SINGLE = 4
"""Bytes of a number in single precision."""
DIFFERENTIABLE = "a model that can be differentiated with respect to its inputs"
BPDA = (
    "Put the part without a gradient into a torch.autograd.Function whose backward pass is the identity (BPDA), "
    "as mutiny.Defended does; docs/attack.md, Defenses."
)
Loss = Callable[[Tensor], Tensor]
"""From outputs ``(n, classes)``, in double precision if the device supports it, to one loss per input, ``(n,)``."""


class Slope(NamedTuple):
    """Gradient of a loss, scaled.

    A very confident model has gradients that are too small for its precision. So the loss of each input is divided by a
    power of two before the backward pass, which does not change the direction of the gradient.

    Attributes:
        direction: Gradient of the summed mean loss, divided by ``scale``; in the shape of the inputs.
        scale: Scale of each input, ``(n,)``.
        losses: Loss of each input, the mean over members, ``(n,)``.
        outputs: Outputs of the original, ``(n, ...)``.
    """

    direction: Tensor
    scale: Tensor
    losses: Tensor
    outputs: Tensor

    @property
    def gradient(self) -> Tensor:
        """Gradient of the summed mean loss; 0 where it is too small for the type of the inputs."""
        return self.direction * _fit(self.scale, self.direction)

    def plus(self, other: Slope) -> Slope:
        """Returns the slope of the sum of both losses, with the outputs of the first."""
        scale = torch.maximum(self.scale, other.scale)
        mine, theirs = (slope.direction * _fit(slope.scale / scale, slope.direction) for slope in (self, other))
        return Slope(mine + theirs, scale, self.losses + other.losses, self.outputs)


class Ensemble:
    """The original and its mutants, whose mean an attack uses.

    Mutants with changed weights are copies that share all unchanged weights with the original; other edits of a patch
    are applied while the mutant runs. The original itself is never changed. Members run as one fused network if that is
    possible and faster, which is measured once and remembered.

    Args:
        model: Model in evaluation mode.
        patches: Patches of the mutants; the original is always the first member.
        forward: Function that calls a model.
        combine: What is averaged over members: ``"gradients"`` of their losses (the gradient of the mean loss), or
            ``"logits"`` or ``"probabilities"`` before the loss.

    Attributes:
        passes: Number of passes so far, each of one input through one member.
        undefined: Number of gradients so far, each of one input, that were not finite; such values count as 0.

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
        check_one_of("combine", combine, get_args(Combine))
        self.model, self.forward, self.combine = model, forward, combine
        with in_use(model):
            self._members = [Member.of(model, patch) for patch in (Patch(()), *patches)]
        self._fused: nn.Module | None = None
        self._not_fused: list[Member] = []
        self._tried = not patches
        self.passes = self.undefined = 0

    def __len__(self) -> int:
        return len(self._members)

    def outputs(self, inputs: Any) -> Iterator[Tensor]:
        """Yields the outputs of each member, the original first."""
        return self._each(self._members, inputs)

    def slope(self, inputs: Tensor, loss: Loss) -> Slope:
        """Returns the gradient of the mean loss with respect to the inputs; weights get no gradients."""
        self.passes += len(inputs) * len(self)
        with in_use(self.model, self.forward), steady(), torch.inference_mode(False), torch.enable_grad():
            leaf = inputs.detach().clone().requires_grad_()
            if not self._tried and len(leaf) >= ENOUGH:
                self.join(leaf, loss)
            if self._fused is None and self.combine == "gradients":
                return self._one_by_one(leaf, loss)
            slope = _slope(self._all_outputs(leaf), leaf, partial(self._loss, loss=loss), rows=1)
            if self.combine == "gradients" and not bool(slope.direction.isfinite().all()):
                return self._one_by_one(leaf, loss)  # so that one member does not spoil the others
            return self._finite(slope._replace(outputs=slope.outputs[0]))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Within this context, no weight of any member requires gradients."""
        members = {id(weight): weight for member in self._members for weight in member.model.parameters()}
        with in_use(self.model), Undo() as undo:
            for weight in members.values():
                if weight.requires_grad:
                    undo.add(weight.requires_grad_, True)
                    weight.requires_grad_(False)
            yield

    def _one_by_one(self, leaf: Tensor, loss: Loss) -> Slope:
        """The graph of each member is freed before the next one runs."""
        total = None
        for outputs in self.outputs(leaf):
            slope = self._finite(_slope(outputs, leaf, loss))
            total = slope if total is None else total.plus(slope)
        assert total is not None
        return total._replace(direction=total.direction / len(self), losses=total.losses / len(self))

    def _loss(self, outputs: Tensor, loss: Loss) -> Tensor:
        """Loss of all members together, from their outputs ``(members, n, ...)``."""
        if self.combine == "gradients":
            return torch.stack([loss(member) for member in outputs]).mean(dim=0)
        return loss(self._mean(outputs))

    def _finite(self, slope: Slope) -> Slope:
        """The slope with 0 where a gradient is NaN or infinite."""
        bad = ~slope.direction.isfinite()
        if not bool(bad.any()):
            return slope
        self.undefined += int(bad.flatten(1).any(dim=1).sum())
        return slope._replace(direction=slope.direction.masked_fill(bad, 0))

    def join(self, inputs: Tensor, loss: Loss, faster: bool | None = None) -> bool:
        """Fuses all members that can be fused into one network, if that is faster.

        Args:
            inputs: Some of the inputs to attack.
            loss: Loss of the attack.
            faster: Whether it is faster, if known; measured once and remembered by default.

        Returns:
            Whether members are fused. A fused network may round differently, so other workers must do the same.
        """
        self._tried = True
        few = inputs[:COMPARED].detach()
        if faster is False:
            return False
        with in_use(self.model, self.forward), steady(), torch.inference_mode(False), torch.enable_grad():
            models = [member.in_weights(self.forward, few) for member in self._members]
            fusible = [model for model in models if model is not None]
            fused = fuse(fusible, self.forward, few) if len(fusible) > 1 else None
            if fused is None:
                return False
            self._not_fused = [member for member, model in zip(self._members, models, strict=True) if model is None]
            if faster is None:
                faster = self._is_faster(fused, inputs, loss)
        self._fused = fused if faster else None
        return faster

    def _is_faster(self, fused: nn.Module, inputs: Tensor, loss: Loss) -> bool:
        """Whether the fused network is faster than all members one by one; timed passes do not count."""
        before = self.passes, self.undefined

        def measured() -> Facts:
            seconds = {}
            for name, network in (("one by one", None), ("joined", fused)):
                self._fused = network
                seconds[name] = min(_seconds(lambda: self.slope(inputs, loss)) for _ in range(PASSES))
            return {"joined": seconds["joined"] < seconds["one by one"]}

        key = key_of(self.model, inputs, "ensemble", len(self), self.combine)
        faster: bool = remembered(key, measured, lambda facts: isinstance(facts.get("joined"), bool))["joined"]
        self.passes, self.undefined = before
        return faster

    def _all_outputs(self, inputs: Any) -> Tensor:
        """Outputs of all members, ``(members, n, ...)``."""
        if self._fused is None:
            return torch.stack([*self.outputs(inputs)])
        count = len(self) - len(self._not_fused)
        outputs = self.forward(self._fused, inputs.clone()).chunk(count, dim=1)  # the original is the first of them
        return torch.stack([*outputs, *self._each(self._not_fused, inputs)])

    def _each(self, members: Sequence[Member], inputs: Any) -> Iterator[Tensor]:
        for model, patch in members:
            with patch.applied(model, self.forward) as call:
                yield call(inputs.clone())  # some models write into their inputs

    def mean(self, inputs: Any) -> Tensor:
        """Returns the mean of all outputs, or the logarithm of mean probabilities, which a loss takes as logits."""
        self.passes += len(inputs) * len(self)
        with in_use(self.model, self.forward):
            return self._mean(self._all_outputs(inputs))

    def _mean(self, outputs: Tensor) -> Tensor:
        if self.combine == "probabilities":
            return outputs.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(self))
        return outputs.mean(dim=0)


def _slope(outputs: Tensor, leaf: Tensor, loss: Loss, rows: int = 0) -> Slope:
    """Gradient of a loss of outputs with respect to inputs; ``rows`` is the dimension of outputs that counts inputs."""
    wide = widest(outputs.detach()).requires_grad_()
    losses = loss(wide)
    (by_output,) = torch.autograd.grad(losses.sum(), wide)
    largest = by_output.abs().nan_to_num(0, 0, 0).amax(dim=[axis for axis in range(by_output.ndim) if axis != rows])
    scale = (largest / largest.frexp().mantissa).nan_to_num(0).clamp_min(torch.finfo(largest.dtype).tiny)
    shape = [-1 if axis == rows else 1 for axis in range(by_output.ndim)]
    direction = _gradient(outputs, leaf, (by_output / scale.reshape(shape)).to(outputs.dtype))
    return Slope(direction, scale, losses.detach(), outputs.detach())


def _gradient(outputs: Tensor, leaf: Tensor, by_output: Tensor) -> Tensor:
    """Gradient with respect to the inputs, in single precision or better."""
    gradient = torch.autograd.grad(outputs, leaf, by_output, allow_unused=True)[0] if outputs.requires_grad else None
    if gradient is None:
        raise BadInput("model", "outputs without a gradient with respect to the inputs", DIFFERENTIABLE, BPDA)
    return gradient if gradient.element_size() >= SINGLE else gradient.float()


def _fit(values: Tensor, inputs: Tensor) -> Tensor:
    """One number per input, in the type of the inputs and a shape that broadcasts to them."""
    return values.to(inputs.dtype).reshape(-1, *[1] * (inputs.ndim - 1))


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
