"""Projected gradient descent, and the fast gradient sign, which is its first step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from mutiny.attacks.base import Attack, Attacked, Batch, answers
from mutiny.attacks.ensemble import Ensemble, Loss
from mutiny.checks import check_whole
from mutiny.data.balls import within
from mutiny.errors import BadInput
from mutiny.random import seed_for

Bound = Literal["linf", "l2"]
SANE = 2.5
"""The steps of an attack together are this many times as long as it may go (Madry et al.)."""
SMALL = 1e-12


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

    def __post_init__(self) -> None:
        if self.norm not in ("linf", "l2"):
            raise BadInput("norm", repr(self.norm), "linf or l2")
        check_whole("iterations", self.iterations)
        check_whole("restarts", self.restarts)
        if self.step is not None and not self.step > 0:
            raise BadInput("step", self.step, "a number above 0, or None for one that fits the distance")
        if not self.momentum >= 0:
            raise BadInput("momentum", self.momentum, "a number of at least 0")

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Of several attempts, the first that the original gets wrong; the last if there is none."""
        assert eps is not None
        found, left, passes = batch.inputs.clone(), torch.arange(len(batch.inputs)), 0
        for attempt in range(self.restarts):
            inputs, labels = batch.inputs[left], batch.labels[left]
            start = self.starts(batch.inputs, eps, batch.first, attempt, batch.seed)
            loss = partial(functional.cross_entropy, target=labels, reduction="none")
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
        """More attempts, all but the first from random places."""
        return replace(self, restarts=self.restarts * budget)

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
        now = inputs if start is None else _inside(inputs, inputs + start, eps, self.norm, low, high)
        speed = torch.zeros_like(inputs)
        for _ in range(self.iterations):
            gradient = ensemble.slope(now, loss).gradient
            if self.momentum:
                speed = self.momentum * speed + gradient / _sizes(gradient.abs(), "mean")
                gradient = speed
            step = gradient.sign() if self.norm == "linf" else gradient / _sizes(gradient, "l2")
            now = _inside(inputs, now + self.length(eps) * step, eps, self.norm, low, high)
        return now

    def starts(self, inputs: Tensor, eps: float, first: int, attempt: int, seed: int) -> Tensor | None:
        """Random changes to begin with, which belong to inputs, not to batches.

        Args:
            inputs: a batch.
            eps: how far they may go.
            first: number of the batch's first input.
            attempt: which one.
            seed: of the attack.
        """
        if not attempt and not self.random_start:
            return None
        size = inputs[0].numel()
        stream = np.random.PCG64(seed_for(seed, "attack", "start", attempt))
        stream.advance(first * (size + 1))
        drawn = np.random.Generator(stream).random((len(inputs), size + 1))
        change = torch.from_numpy(2 * drawn[:, 1:] - 1).to(inputs).reshape(inputs.shape)
        if self.norm == "linf":
            return eps * change
        radius = torch.from_numpy(drawn[:, 0] ** (1 / size)).to(inputs).reshape(-1, *[1] * (inputs.ndim - 1))
        normal = (2**0.5) * torch.erfinv(change.clamp(-1 + 1e-6, 1 - 1e-6))  # directions without a favourite
        return eps * radius * normal / _sizes(normal, "l2")


@dataclass(frozen=True)
class Fgsm(Attack):
    """One step as long as it may be.

    Args:
        norm: of the distance: ``linf`` or ``l2``.
    """

    code: ClassVar[str] = "fgsm"
    title: ClassVar[str] = "fast gradient sign"
    source: ClassVar[str] = "Goodfellow, Shlens, Szegedy, ICLR 2015"

    norm: Bound = "linf"

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """See above."""
        assert eps is not None
        loss = partial(functional.cross_entropy, target=batch.labels, reduction="none")
        moved = Pgd(self.norm, iterations=1, step=eps or 1.0).moved(
            ensemble, batch.inputs, loss, eps, batch.low, batch.high
        )
        return Attacked(moved, len(moved) * len(ensemble))

    def times(self, budget: int) -> Self:
        """One step is one step."""
        del budget
        return self


def _inside(inputs: Tensor, now: Tensor, eps: float, norm: Bound, low: float, high: float) -> Tensor:
    found: Tensor = inputs + within(now - inputs, eps, norm)
    return found.clamp(low, high)


def _sizes(values: Tensor, kind: Literal["mean", "l2"]) -> Tensor:
    """Of each input, in a shape that fits it; never 0."""
    flat = values.flatten(1)
    size = flat.mean(dim=1) if kind == "mean" else flat.norm(dim=1)
    return size.clamp_min(SMALL).reshape(-1, *[1] * (values.ndim - 1))
