"""Projected gradient descent (Madry et al., 2018), with FGSM as its first step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mutiny.attacks.ensemble import Ensemble, Loss
from mutiny.data.balls import within
from mutiny.errors import BadInput
from mutiny.random import seed_for

Bound = Literal["linf", "l2"]
SANE = 2.5
"""The steps of an attack together are this many times as long as it may go (Madry et al.)."""
SMALL = 1e-12


@dataclass(frozen=True)
class Pgd:
    """How inputs are moved.

    Args:
        norm: of the distance: ``linf`` or ``l2``.
        iterations: steps; MUTEN takes 40 for MNIST and 20 for CIFAR-10.
        step: length of each; ``None``: 2.5 times the distance divided by the iterations. ART's default, which MUTEN
            probably used, is 0.1 whatever the distance: larger than every distance that MUTEN allows for CIFAR-10.
        restarts: attempts; the first one that succeeds counts.
        random_start: whether an attempt begins anywhere in the ball. All but the first always do.
        momentum: of gradients, each divided by its mean size (Dong et al., 2018); 0 has none.
    """

    norm: Bound = "linf"
    iterations: int = 40
    step: float | None = None
    restarts: int = 1
    random_start: bool = False
    momentum: float = 0.0

    def __post_init__(self) -> None:
        if self.norm not in ("linf", "l2"):
            raise BadInput("norm", repr(self.norm), "linf or l2")
        for name in ("iterations", "restarts"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(name, repr(value), "a whole number of at least 1")
        if self.step is not None and not self.step > 0:
            raise BadInput("step", self.step, "a number above 0, or None for one that fits the distance")
        if not self.momentum >= 0:
            raise BadInput("momentum", self.momentum, "a number of at least 0")

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


def fgsm(norm: Bound = "linf") -> Pgd:
    """One step as long as it may be (Goodfellow et al., 2015).

    >>> fgsm().length(0.3)
    0.3
    """
    return _Fgsm(norm=norm, iterations=1)


@dataclass(frozen=True)
class _Fgsm(Pgd):
    def length(self, eps: float) -> float:
        return eps


def _inside(inputs: Tensor, now: Tensor, eps: float, norm: Bound, low: float, high: float) -> Tensor:
    found: Tensor = inputs + within(now - inputs, eps, norm)
    return found.clamp(low, high)


def _sizes(values: Tensor, kind: Literal["mean", "l2"]) -> Tensor:
    """Of each input, in a shape that fits it; never 0."""
    flat = values.flatten(1)
    size = flat.mean(dim=1) if kind == "mean" else flat.norm(dim=1)
    return size.clamp_min(SMALL).reshape(-1, *[1] * (values.ndim - 1))
