"""Projected gradient descent (PGD), and the fast gradient sign method (FGSM), which is its first step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import ClassVar, Literal, Self, get_args

import numpy as np
import torch
from torch import Tensor

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.core.random import seed_for
from mutiny.subjects.data.balls import Ball
from mutiny.verbs.attack.base import Attack, Attacked, Batch, answers, cross_entropy, margin
from mutiny.verbs.attack.ensemble import Ensemble, Loss

Bound = Literal["linf", "l2"]
Losses = Literal["cross-entropy", "margin", "both"]
SANE = 2.5
"""Length of all default steps together, as a multiple of the largest distance (Madry et al.)."""


@dataclass(frozen=True)
class Pgd(Attack):
    """Steps along the gradient, each projected back into the ball and the range.

    Args:
        norm: Norm of the distance: ``linf`` or ``l2``.
        iterations: Number of steps; MUTEN uses 40 for MNIST and 20 for CIFAR-10.
        step: Length of a step; by default 2.5 times the distance divided by the iterations. ART's default, which MUTEN
            probably used, is 0.1 for any distance: larger than every distance that MUTEN allows for CIFAR-10.
        restarts: Number of attempts; the first successful one counts.
        random_start: Whether the first attempt starts at a random point of the ball. Later attempts always do.
        momentum: Momentum of gradients, each divided by its mean size (Dong et al., 2018); 0 for none.
        loss: Loss to increase: ``cross-entropy`` (the paper's); ``margin``, the lead of the largest other logit over
            that of the true class, whose gradient does not vanish if a model is confident; or ``both``, which
            alternates: the first attempt uses cross-entropy and the second the margin, both without a random start.
    """

    code: ClassVar[str] = "pgd"
    title: ClassVar[str] = "projected gradient descent"
    source: ClassVar[str] = "Madry et al., ICLR 2018"

    norm: Bound = "linf"
    iterations: int = 40
    step: float | None = None
    restarts: int = 1
    random_start: bool = False
    momentum: float = 0.0
    loss: Losses = "cross-entropy"

    def __post_init__(self) -> None:
        _check(self)
        check_whole(f"{self.code} iterations", self.iterations)
        check_whole(f"{self.code} restarts", self.restarts)
        if self.step is not None:
            check_positive(f"{self.code} step", self.step)
        if not self.momentum >= 0 or not isfinite(self.momentum):
            raise BadInput(f"{self.code} momentum", self.momentum, "a number of at least 0")

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Returns the first attempt that fools the original for each input, or the last attempt."""
        assert eps is not None
        new, left, passes = batch.inputs.clone(), torch.arange(len(batch.inputs)), 0
        for attempt in range(self.restarts):
            inputs, labels = batch.inputs[left], batch.labels[left]
            start = self.starts(batch.inputs, eps, batch.first, attempt, batch.seed)
            loss = self.rising(labels, attempt)
            now = self.moved(ensemble, inputs, loss, eps, batch.low, batch.high, None if start is None else start[left])
            passes += len(left) * self.iterations * len(ensemble)
            new[left] = now
            if attempt + 1 == self.restarts:
                break
            with torch.no_grad():
                left = left[(answers(next(ensemble.outputs(now))) == labels).cpu()]
            if not len(left):
                break
        return Attacked(new, passes)

    def times(self, budget: int) -> Self:
        """Returns more attempts with both losses, so that mutants do not win only because one loss is weak."""
        return replace(self, restarts=self.restarts * budget, loss="both") if budget > 1 else self

    def rising(self, labels: Tensor, attempt: int = 0) -> Loss:
        """Returns the loss that an attempt increases."""
        by_margin = self.loss == "margin" or (self.loss == "both" and attempt % 2)
        return partial(margin if by_margin else cross_entropy, labels=labels)

    def length(self, eps: float) -> float:
        """Length of one step."""
        return SANE * eps / self.iterations if self.step is None else self.step

    def moved(
        self,
        ensemble: Ensemble,
        inputs: Tensor,
        loss: Loss,
        eps: float,
        low: float,
        high: float,
        start: Tensor | None = None,
    ) -> Tensor:
        """Makes one attempt: returns inputs with a larger loss, within ``eps`` of the given ones and within the range.

        Args:
            ensemble: Ensemble whose mean gradient is followed.
            inputs: Inputs within the range, ``(n, ...)``.
            loss: Loss to increase.
            eps: Largest distance.
            low: Smallest value of an input.
            high: Largest value of an input.
            start: Changes of the inputs to start from; none by default.
        """
        ball = Ball(inputs, eps, self.norm, low, high)
        now = inputs if start is None else ball.near(inputs + start)
        velocity = torch.zeros_like(_at_least_single(inputs))
        for _ in range(self.iterations):
            gradient = ensemble.slope(now, loss).direction
            if self.momentum:
                velocity = self.momentum * velocity + _normalized(gradient, "mean")
                gradient = velocity
            step = gradient.sign() if self.norm == "linf" else _normalized(gradient, "l2")
            now = ball.near(now + self.length(eps) * step)
        return ball.inside(now)

    def starts(self, inputs: Tensor, eps: float, first: int, attempt: int, seed: int) -> Tensor | None:
        """Returns random changes to start from, which depend on the input, not on the batch; none for no change.

        Args:
            inputs: Inputs of a batch.
            eps: Largest distance.
            first: Number of the first input of the batch in the data.
            attempt: Number of the attempt.
            seed: Seed of the attack.
        """
        if attempt <= (self.loss == "both") and not self.random_start:
            return None
        size = inputs[0].numel()
        stream = np.random.PCG64(seed_for(seed, "attack", "start", attempt))
        stream.advance(first * (size + 1))  # to the draws of this batch: size + 1 numbers per input
        drawn = np.random.Generator(stream).random((len(inputs), size + 1))
        change = torch.from_numpy(2 * drawn[:, 1:] - 1).to(_at_least_single(inputs)).reshape(inputs.shape)
        if self.norm == "linf":
            return eps * change
        radius = torch.from_numpy(drawn[:, 0] ** (1 / size)).to(change).reshape(-1, *[1] * (inputs.ndim - 1))
        normal = (2**0.5) * torch.erfinv(change.clamp(-1 + 1e-6, 1 - 1e-6))  # uniform in direction
        return eps * radius * _normalized(normal, "l2")


@dataclass(frozen=True)
class Fgsm(Attack):
    """One step of the largest length allowed.

    Args:
        norm: Norm of the distance: ``linf`` or ``l2``.
        restarts: Number of attempts; the first successful one counts. All but the first start at a random point of the
            ball, similar to R+FGSM (Tramèr et al., ICLR 2018).
        loss: Loss to increase; see `Pgd`.
    """

    code: ClassVar[str] = "fgsm"
    title: ClassVar[str] = "fast gradient sign"
    source: ClassVar[str] = "Goodfellow, Shlens, Szegedy, ICLR 2015"

    norm: Bound = "linf"
    restarts: int = 1
    loss: Losses = "cross-entropy"

    def __post_init__(self) -> None:
        _check(self)
        check_whole(f"{self.code} restarts", self.restarts)

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Runs PGD with one step."""
        assert eps is not None
        return self._steps(eps or 1.0).attacked(ensemble, batch, eps)

    def times(self, budget: int) -> Self:
        """Returns more attempts with both losses; see `Pgd`."""
        return replace(self, restarts=self.restarts * budget, loss="both") if budget > 1 else self

    def rising(self, labels: Tensor) -> Loss:
        """Returns the loss that the first attempt increases."""
        return self._steps().rising(labels)

    def _steps(self, step: float | None = None) -> Pgd:
        return Pgd(self.norm, 1, step, self.restarts, loss=self.loss)


def _check(attack: Pgd | Fgsm) -> None:
    if attack.norm not in get_args(Bound):
        raise BadInput(f"{attack.code} norm", repr(attack.norm), "linf or l2")
    if attack.loss not in get_args(Losses):
        raise BadInput(f"{attack.code} loss", repr(attack.loss), "cross-entropy, margin or both")


def _normalized(values: Tensor, kind: Literal["mean", "l2"]) -> Tensor:
    """Values of each input divided by their mean size or by their length; 0 stays 0."""
    tiny, shape = torch.finfo(values.dtype).tiny, (-1, *[1] * (values.ndim - 1))
    # First by the largest, because the squares of very small values would be 0.
    values = values / values.flatten(1).abs().amax(dim=1).clamp_min(tiny).reshape(shape)
    flat = values.flatten(1)
    size = flat.abs().mean(dim=1) if kind == "mean" else flat.norm(dim=1)
    return values / size.clamp_min(tiny).reshape(shape)


def _at_least_single(inputs: Tensor) -> Tensor:
    """The inputs in single precision, or in double if they are."""
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))
