"""Projected gradient descent, and the fast gradient sign, which is its first step."""

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
"""The steps of an attack together are this many times as long as it may go (Madry et al.)."""


@dataclass(frozen=True)
class Pgd(Attack):
    """Steps along the gradient, each back into the ball and the range.

    Args:
        norm: of the distance: ``linf`` or ``l2``.
        iterations: steps; MUTEN takes 40 for MNIST and 20 for CIFAR-10.
        step: length of each; ``None``: 2.5 times the distance divided by the iterations. ART's default, which MUTEN
            probably used, is 0.1 whatever the distance: larger than every distance that MUTEN allows for CIFAR-10.
        restarts: attempts; the first one that succeeds counts.
        random_start: whether an attempt begins anywhere in the ball. All but the first always do.
        momentum: of gradients, each divided by its mean size (Dong et al., 2018); 0 has none.
        loss: what is raised: ``cross-entropy`` (the paper's), ``margin``: by how much the largest other logit leads
            before that of the true class, whose gradient does not vanish where a model is sure; or ``both``: attempts
            take turns, the first with cross-entropy, the second with the margin, none of these two at random.
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
        _check(self.norm, self.loss)
        check_whole("iterations", self.iterations)
        check_whole("restarts", self.restarts)
        if self.step is not None:
            check_positive("step", self.step)
        if not self.momentum >= 0 or not isfinite(self.momentum):
            raise BadInput("momentum", self.momentum, "a number of at least 0")

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Of several attempts, the first that the original gets wrong; the last if there is none."""
        assert eps is not None
        found, left, passes = batch.inputs.clone(), torch.arange(len(batch.inputs)), 0
        for attempt in range(self.restarts):
            inputs, labels = batch.inputs[left], batch.labels[left]
            start = self.starts(batch.inputs, eps, batch.first, attempt, batch.seed)
            loss = self.rising(labels, attempt)
            now = self.moved(ensemble, inputs, loss, eps, batch.low, batch.high, None if start is None else start[left])
            passes += len(left) * self.iterations * len(ensemble)
            found[left] = now
            if attempt + 1 == self.restarts:
                break
            with torch.no_grad():
                left = left[(answers(next(ensemble.outputs(now))) == labels).cpu()]
            if not len(left):
                break
        return Attacked(found, passes)

    def times(self, budget: int) -> Self:
        """More attempts, with both losses: mutants should not win against an attack that is weak on purpose."""
        return replace(self, restarts=self.restarts * budget, loss="both") if budget > 1 else self

    def rising(self, labels: Tensor, attempt: int = 0) -> Loss:
        """What an attempt raises."""
        turn = self.loss == "margin" or (self.loss == "both" and attempt % 2)
        return partial(margin if turn else cross_entropy, labels=labels)

    def length(self, eps: float) -> float:
        """Of one step."""
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
        """Inputs within ``eps`` of the given ones, and within the range, whose loss is larger; one attempt.

        Args:
            ensemble: whose mean gradient is followed.
            inputs: within the range, ``(n, ...)``.
            loss: that should rise.
            eps: how far they may go.
            low: least value of an input's numbers.
            high: largest value.
            start: where the attempt begins, as changes; at the inputs if not given.
        """
        ball = Ball(inputs, eps, self.norm, low, high)
        now = inputs if start is None else ball.near(inputs + start)
        speed = torch.zeros_like(_single(inputs))
        for _ in range(self.iterations):
            gradient = ensemble.slope(now, loss).direction
            if self.momentum:
                speed = self.momentum * speed + _even(gradient, "mean")
                gradient = speed
            step = gradient.sign() if self.norm == "linf" else _even(gradient, "l2")
            now = ball.near(now + self.length(eps) * step)
        return ball.inside(now)

    def starts(self, inputs: Tensor, eps: float, first: int, attempt: int, seed: int) -> Tensor | None:
        """Random changes to begin with, which belong to inputs, not to batches.

        Args:
            inputs: a batch.
            eps: how far they may go.
            first: number of the batch's first input.
            attempt: which one.
            seed: of the attack.
        """
        if attempt <= (self.loss == "both") and not self.random_start:
            return None
        size = inputs[0].numel()
        stream = np.random.PCG64(seed_for(seed, "attack", "start", attempt))
        stream.advance(first * (size + 1))
        drawn = np.random.Generator(stream).random((len(inputs), size + 1))
        change = torch.from_numpy(2 * drawn[:, 1:] - 1).to(_single(inputs)).reshape(inputs.shape)
        if self.norm == "linf":
            return eps * change
        radius = torch.from_numpy(drawn[:, 0] ** (1 / size)).to(change).reshape(-1, *[1] * (inputs.ndim - 1))
        normal = (2**0.5) * torch.erfinv(change.clamp(-1 + 1e-6, 1 - 1e-6))  # directions without a favourite
        return eps * radius * _even(normal, "l2")


@dataclass(frozen=True)
class Fgsm(Attack):
    """One step as long as it may be.

    Args:
        norm: of the distance: ``linf`` or ``l2``.
        restarts: attempts; the first one that succeeds counts. All but the first begin anywhere in the ball, much as
            R+FGSM does (Tramèr et al., ICLR 2018).
        loss: what is raised; see `Pgd`.
    """

    code: ClassVar[str] = "fgsm"
    title: ClassVar[str] = "fast gradient sign"
    source: ClassVar[str] = "Goodfellow, Shlens, Szegedy, ICLR 2015"

    norm: Bound = "linf"
    restarts: int = 1
    loss: Losses = "cross-entropy"

    def __post_init__(self) -> None:
        _check(self.norm, self.loss)
        check_whole("restarts", self.restarts)

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """See above."""
        assert eps is not None
        return self._steps(eps or 1.0).attacked(ensemble, batch, eps)

    def times(self, budget: int) -> Self:
        """More attempts, with both losses; see `Pgd`."""
        return replace(self, restarts=self.restarts * budget, loss="both") if budget > 1 else self

    def rising(self, labels: Tensor) -> Loss:
        """What the first attempt raises."""
        return self._steps().rising(labels)

    def _steps(self, step: float | None = None) -> Pgd:
        return Pgd(self.norm, 1, step, self.restarts, loss=self.loss)


def _check(norm: str, loss: str) -> None:
    if norm not in get_args(Bound):
        raise BadInput("norm", repr(norm), "linf or l2")
    if loss not in get_args(Losses):
        raise BadInput("loss", repr(loss), "cross-entropy, margin or both")


def _even(values: Tensor, kind: Literal["mean", "l2"]) -> Tensor:
    """Each input's divided by their mean size, or by their length; however small they are. 0 stays 0."""
    tiny, shape = torch.finfo(values.dtype).tiny, (-1, *[1] * (values.ndim - 1))
    values = values / values.flatten(1).abs().amax(dim=1).clamp_min(tiny).reshape(shape)
    flat = values.flatten(1)
    size = flat.abs().mean(dim=1) if kind == "mean" else flat.norm(dim=1)
    return values / size.clamp_min(tiny).reshape(shape)


def _single(inputs: Tensor) -> Tensor:
    """In single precision at least."""
    return inputs.to(torch.promote_types(inputs.dtype, torch.float32))
