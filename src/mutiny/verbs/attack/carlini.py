"""The attack of Carlini and Wagner (2017): the nearest input, in L2, that gets another answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.verbs.attack.base import Attack, Attacked, Batch, answers, margin
from mutiny.verbs.attack.ensemble import Ensemble, Loss

EDGE = 1 - 1e-6
"""Inputs are pulled this close to the ends of their range, where the tangent has no end."""
MOST = 1e10
"""Weights of the loss beyond this are none."""
CHECKS = 10
"""So many times in a search inputs that no longer get better are left alone, as in the authors' code."""
BETTER = 0.9999
FIRST, SECOND, TINY = 0.9, 0.999, 1e-8
"""Adam's constants."""


class Found(NamedTuple):
    """What became of the inputs.

    Attributes:
        inputs: the nearest that get another answer; the given ones where there is none.
        success: which do, ``(n,)``.
        distance: L2, ``(n,)``; infinite without success.
        passes: forward and backward passes that were made, one input each.
    """

    inputs: Tensor
    success: Tensor
    distance: Tensor
    passes: int


@dataclass(frozen=True)
class Carlini(Attack):
    """The nearest input, in L2, that gets another answer.

    Minimises ``|x' - x|^2 + c f(x')`` by Adam, where ``f`` is by how much the true class leads, and 0 once another one
    leads by ``confidence``. ``x'`` is a tangent, which keeps it in its range. For each input by itself, ``c`` is raised
    tenfold while nothing is found, and then halved towards the least that works.

    Args:
        confidence: lead of another class that is asked for.
        iterations: of Adam for each ``c``.
        rate: of Adam; where changes of 0.1 are enough a smaller one finds nearer inputs.
        searches: values of ``c`` that are tried for each input.
        constant: the first of them.
    """

    code: ClassVar[str] = "carlini"
    title: ClassVar[str] = "Carlini and Wagner's nearest input"
    source: ClassVar[str] = "Carlini, Wagner, S&P 2017"
    bounded: ClassVar[bool] = False

    confidence: float = 0.0
    iterations: int = 100
    rate: float = 0.1
    searches: int = 10
    constant: float = 0.01

    def __post_init__(self) -> None:
        check_whole("iterations", self.iterations)
        check_whole("searches", self.searches)
        for name in ("rate", "constant"):
            check_positive(name, getattr(self, name))
        if not self.confidence >= 0 or not isfinite(self.confidence):
            raise BadInput("confidence", self.confidence, "a number of at least 0")

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """The nearest, whatever the distance; the old inputs where there is none."""
        del eps
        found = self.nearest(ensemble, batch.inputs, batch.labels, batch.low, batch.high)
        return Attacked(found.inputs, found.passes * len(ensemble))

    def times(self, budget: int) -> Self:
        """More iterations for each weight of the loss."""
        return replace(self, iterations=self.iterations * budget)

    def rising(self, labels: Tensor) -> Loss:
        """It is the lead of the true class that is lowered."""
        return partial(margin, labels=labels)

    def nearest(self, ensemble: Ensemble, inputs: Tensor, labels: Tensor, low: float, high: float) -> Found:
        """The nearest inputs to which the ensemble's original gives another answer.

        Args:
            ensemble: whose mean slope is followed.
            inputs: within the range, ``(n, ...)``.
            labels: the answers that should be lost, ``(n,)``.
            low: least value of an input's numbers.
            high: largest value.
        """
        best = Found(inputs.clone(), torch.zeros_like(labels, dtype=torch.bool), _endless(inputs), 0)
        constant = torch.full_like(best.distance, self.constant)
        below, above = torch.zeros_like(constant), torch.full_like(constant, MOST)
        for _ in range(self.searches):
            found = self._descend(ensemble, inputs, labels, constant, low, high)
            nearer = found.distance < best.distance
            best = Found(
                torch.where(_fit(nearer, inputs), found.inputs, best.inputs),
                best.success | found.success,
                torch.minimum(best.distance, found.distance),
                best.passes + found.passes,
            )
            above = torch.where(found.success, torch.minimum(above, constant), above)
            below = torch.where(found.success, below, torch.maximum(below, constant))
            constant = torch.where(above < MOST, (below + above) / 2, constant * 10)
        return best

    def _descend(
        self, ensemble: Ensemble, inputs: Tensor, labels: Tensor, constant: Tensor, low: float, high: float
    ) -> Found:
        """One search with a ``c`` for each input. Inputs that no longer get better leave the batch."""
        middle, half = (low + high) / 2, (high - low) / 2
        best, distance = inputs.clone(), _endless(inputs)
        left = torch.arange(len(inputs), device=inputs.device)
        exact = inputs.to(distance.dtype)
        place = torch.atanh(((exact - middle) / half).clamp(-EDGE, EDGE))
        mean, square = torch.zeros_like(place), torch.zeros_like(place)
        before, passes = _endless(inputs), 0
        every = max(1, self.iterations // CHECKS)
        for number in range(1, self.iterations + 1):
            bent = place.tanh()
            now, start = (middle + half * bent).clamp(low, high).to(inputs.dtype), exact[left]
            slope = ensemble.slope(now, partial(self._lead, labels=labels[left]))
            passes += len(left)
            change = now.to(exact.dtype) - start
            apart = change.flatten(1).square().sum(dim=1)
            lost = self._lost(slope.outputs, labels[left])
            nearer = lost & (apart.sqrt() < distance[left])
            best[left[nearer]], distance[left[nearer]] = now[nearer], apart.sqrt()[nearer]
            gradient = 2 * change + _fit(constant[left], now) * slope.gradient
            gradient = gradient * half * (1 - bent.square())
            mean, square = FIRST * mean + (1 - FIRST) * gradient, SECOND * square + (1 - SECOND) * gradient.square()
            size = (square / (1 - SECOND**number)).sqrt() + TINY
            place = place - self.rate * mean / (1 - FIRST**number) / size
            if number % every == 0:
                total = apart + constant[left] * slope.losses.to(apart.dtype)
                going = total <= BETTER * before[left]
                before[left] = total
                left, place, mean, square = left[going], place[going], mean[going], square[going]
                if not len(left):
                    break
        with torch.no_grad():  # the original by itself may round otherwise than together with mutants
            success = distance.isfinite() & self._lost(next(ensemble.outputs(best)), labels)
        best = torch.where(_fit(success, inputs), best, inputs)
        return Found(best, success, distance.where(success, torch.inf), passes)

    def _lead(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """By how much the true class leads, plus the confidence; at least 0."""
        return (self.confidence - margin(outputs, labels)).clamp_min(0)

    def _lost(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Where the answer is another one, by the lead that is asked for; two classes that are level are not enough."""
        return (answers(outputs) != labels) & (self._lead(outputs, labels) <= 0)


def _endless(inputs: Tensor) -> Tensor:
    """For each input, in single precision at least."""
    kind = torch.promote_types(inputs.dtype, torch.float32)
    return torch.full((len(inputs),), torch.inf, device=inputs.device, dtype=kind)


def _fit(values: Tensor, inputs: Tensor) -> Tensor:
    """One number per input, in a shape that fits them."""
    return values.reshape(-1, *[1] * (inputs.ndim - 1))
