"""The attack of Carlini and Wagner (2017): the nearest input, in L2, that the model answers differently."""

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
"""Limit of inputs scaled to -1..1, because the inverse hyperbolic tangent is infinite at the ends of the range."""
MOST = 1e10
"""Upper bound of the weight of the loss until a weight succeeds."""
CHECKS = 10
"""Number of times in a search that inputs without progress leave the batch, as in the authors' code."""
PROGRESS = 0.9999
"""An input makes progress if its loss falls below this share of the loss at the previous check."""
BETA1, BETA2, ADAM_EPSILON = 0.9, 0.999, 1e-8
"""Adam's constants."""


class NearestInputs(NamedTuple):
    """Nearest adversarial inputs.

    Attributes:
        inputs: Nearest inputs with another answer; the given inputs where none was found.
        success: Whether one was found, ``(n,)``.
        distance: L2 distance, ``(n,)``; infinite without success.
        passes: Number of forward and backward passes, each of one input.
    """

    inputs: Tensor
    success: Tensor
    distance: Tensor
    passes: int


@dataclass(frozen=True)
class Carlini(Attack):
    """Searches for the nearest input, in L2, that the model answers differently.

    Minimizes ``|x' - x|^2 + c f(x')`` with Adam, where ``f`` is the lead of the true class, and 0 once another class
    leads by ``confidence``. ``x'`` is a hyperbolic tangent, which keeps it in the range. For each input separately,
    ``c`` is multiplied by ten until an input is found, and then bisected towards the smallest ``c`` that succeeds.

    Args:
        confidence: Lead that another class must have.
        iterations: Iterations of Adam for each ``c``.
        rate: Learning rate of Adam; if changes of 0.1 are enough, a smaller one finds nearer inputs.
        searches: Number of values of ``c`` to try for each input.
        constant: First value of ``c``.
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
        check_whole(f"{self.code} iterations", self.iterations)
        check_whole(f"{self.code} searches", self.searches)
        for name in ("rate", "constant"):
            check_positive(f"{self.code} {name}", getattr(self, name))
        if not self.confidence >= 0 or not isfinite(self.confidence):
            raise BadInput(f"{self.code} confidence", self.confidence, "a number of at least 0")

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Returns the nearest inputs, at any distance; the old inputs where none was found."""
        del eps
        nearest = self.nearest(ensemble, batch.inputs, batch.labels, batch.low, batch.high)
        return Attacked(nearest.inputs, nearest.passes * len(ensemble))

    def times(self, budget: int) -> Self:
        """Returns the attack with more iterations for each weight of the loss."""
        return replace(self, iterations=self.iterations * budget)

    def rising(self, labels: Tensor) -> Loss:
        """Returns the margin, because the attack reduces the lead of the true class."""
        return partial(margin, labels=labels)

    def nearest(self, ensemble: Ensemble, inputs: Tensor, labels: Tensor, low: float, high: float) -> NearestInputs:
        """Returns the nearest inputs that the ensemble's original answers differently.

        Args:
            ensemble: Ensemble whose mean gradient is followed.
            inputs: Inputs within the range, ``(n, ...)``.
            labels: Correct answers, ``(n,)``.
            low: Smallest value of an input.
            high: Largest value of an input.
        """
        best = NearestInputs(inputs.clone(), torch.zeros_like(labels, dtype=torch.bool), _infinite(inputs), 0)
        constant = torch.full_like(best.distance, self.constant)
        below, above = torch.zeros_like(constant), torch.full_like(constant, MOST)
        for _ in range(self.searches):
            new = self._descend(ensemble, inputs, labels, constant, low, high)
            nearer = new.distance < best.distance
            best = NearestInputs(
                torch.where(_fit(nearer, inputs), new.inputs, best.inputs),
                best.success | new.success,
                torch.minimum(best.distance, new.distance),
                best.passes + new.passes,
            )
            above = torch.where(new.success, torch.minimum(above, constant), above)
            below = torch.where(new.success, below, torch.maximum(below, constant))
            constant = torch.where(above < MOST, (below + above) / 2, constant * 10)
        return best

    def _descend(
        self, ensemble: Ensemble, inputs: Tensor, labels: Tensor, constant: Tensor, low: float, high: float
    ) -> NearestInputs:
        """Runs Adam once, with one ``c`` for each input. Inputs that make no progress leave the batch."""
        middle, half = (low + high) / 2, (high - low) / 2
        best, distance = inputs.clone(), _infinite(inputs)
        left = torch.arange(len(inputs), device=inputs.device)
        exact = inputs.to(distance.dtype)
        place = torch.atanh(((exact - middle) / half).clamp(-EDGE, EDGE))
        mean, square = torch.zeros_like(place), torch.zeros_like(place)
        before, passes = _infinite(inputs), 0
        every = max(1, self.iterations // CHECKS)
        for number in range(1, self.iterations + 1):
            scaled = place.tanh()
            now, start = (middle + half * scaled).clamp(low, high).to(inputs.dtype), exact[left]
            slope = ensemble.slope(now, partial(self._lead, labels=labels[left]))
            passes += len(left)
            change = now.to(exact.dtype) - start
            apart = change.flatten(1).square().sum(dim=1)
            lost = self._lost(slope.outputs, labels[left])
            nearer = lost & (apart.sqrt() < distance[left])
            best[left[nearer]], distance[left[nearer]] = now[nearer], apart.sqrt()[nearer]
            gradient = 2 * change + _fit(constant[left], now) * slope.gradient
            gradient = gradient * half * (1 - scaled.square())  # derivative of the hyperbolic tangent
            mean, square = BETA1 * mean + (1 - BETA1) * gradient, BETA2 * square + (1 - BETA2) * gradient.square()
            size = (square / (1 - BETA2**number)).sqrt() + ADAM_EPSILON
            place = place - self.rate * mean / (1 - BETA1**number) / size
            if number % every == 0:
                total = apart + constant[left] * slope.losses.to(apart.dtype)
                better = total <= PROGRESS * before[left]
                before[left] = total
                left, place, mean, square = left[better], place[better], mean[better], square[better]
                if not len(left):
                    break
        with torch.no_grad():  # the original alone may round differently than together with mutants
            success = distance.isfinite() & self._lost(next(ensemble.outputs(best)), labels)
        best = torch.where(_fit(success, inputs), best, inputs)
        return NearestInputs(best, success, distance.where(success, torch.inf), passes)

    def _lead(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Lead of the true class plus the confidence; at least 0."""
        return (self.confidence - margin(outputs, labels)).clamp_min(0)

    def _lost(self, outputs: Tensor, labels: Tensor) -> Tensor:
        """Whether another class leads by at least the confidence, and not just equals the true class."""
        return (answers(outputs) != labels) & (self._lead(outputs, labels) <= 0)


def _infinite(inputs: Tensor) -> Tensor:
    """Infinity for each input, in single precision or better."""
    kind = torch.promote_types(inputs.dtype, torch.float32)
    return torch.full((len(inputs),), torch.inf, device=inputs.device, dtype=kind)


def _fit(values: Tensor, inputs: Tensor) -> Tensor:
    """One number per input, in a shape that broadcasts to the inputs."""
    return values.reshape(-1, *[1] * (inputs.ndim - 1))
