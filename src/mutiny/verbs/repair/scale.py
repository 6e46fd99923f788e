"""Louder or quieter: factors for the neurons on which failures depend (CARE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.models.capture import activations
from mutiny.models.layers import Layer
from mutiny.models.placement import placement
from mutiny.models.variants import Interventions
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.credit import credits
from mutiny.verbs.repair.damage import Damage, Ints
from mutiny.verbs.repair.evolution import Evolution, Floats
from mutiny.verbs.repair.knobs import Knobs
from mutiny.verbs.repair.proposals import Weighing

SPREAD = 0.5
"""Of the first factors around 1."""


@dataclass(frozen=True)
class Scale(Method):
    """Neurons whose value has the largest effect on failing inputs, each then multiplied by a factor.

    A neuron's effect is how far the credit of failing inputs swings while the neuron is held at values between its
    least and its largest one: an intervention, not a correlation. Factors are found by differential evolution, where
    CARE has a particle swarm, and multiply incoming weights and bias; where ReLU follows at once, as in CARE's
    networks, that is the same as multiplying what the neuron says. A normalization in between adds its own shift.

    Args:
        neurons: how many are scaled.
        points: values at which each neuron is held.
        most: the largest factor; the least is 0.
        balance: weight of passing inputs, from 0 to 1; failing ones have the rest.
        population: candidates of a generation.
        generations: at most so many.
        failures: at most so many failing inputs are looked at.
        passes: passing inputs that are looked at for each failing one. More of them keep a patch from breaking things.
    """

    code: ClassVar[str] = "scale"
    title: ClassVar[str] = "factors for the neurons with the largest effect"
    source: ClassVar[str] = "Sun, Sun, Pham, Shi, CARE, ICSE 2022"

    neurons: int = 5
    points: int = 4
    most: float = 10.0
    balance: float = 0.2
    population: int = 20
    generations: int = 100
    failures: int = 200
    passes: float = 1.0

    def __post_init__(self) -> None:
        Evolution(self.population, self.generations)  # which checks them
        check_whole("neurons", self.neurons)
        check_whole("points", self.points, 2)
        check_whole("failures", self.failures)
        check_positive("passes", self.passes)
        check_positive("most", self.most)
        if not 0 < self.balance < 1:
            raise BadInput("balance", self.balance, "a number between 0 and 1")
        if not self.most > 1:
            raise BadInput("most", self.most, "a factor above 1")

    def patches(self, damage: Damage, progress: Progress) -> Sequence[Patch]:
        """The best candidates."""
        fail, passing = damage.sample(self.failures, self.passes)
        chosen = self._chosen(damage, fail, progress)
        knobs, rng = Knobs.of_neurons(damage.view, chosen), damage.rng("scale")
        start = rng.normal(1, SPREAD, (self.population, len(chosen)))
        start[0] = 1
        low, high = np.zeros(len(chosen)), np.full(len(chosen), self.most)
        alpha = (1 - self.balance) / self.balance * max(1, len(passing)) / max(1, len(fail))
        weighing = Weighing(damage, knobs, fail, passing, alpha, progress)
        return weighing.patches(start, low, high, Evolution(self.population, self.generations), rng)

    def _chosen(self, damage: Damage, fail: Ints, progress: Progress) -> list[tuple[Layer, int]]:
        layers = damage.visible
        progress.stage("holding neurons", len(layers))
        effects = [self._effects(damage, layer, fail, progress) for layer in layers]
        every = [(layer, unit) for layer in layers for unit in range(layer.neurons)]
        best = np.argsort(-np.concatenate(effects), kind="stable")[: self.neurons]
        return [every[at] for at in best]

    def _effects(self, damage: Damage, layer: Layer, fail: Ints, progress: Progress) -> Floats:
        """How far the mean credit of failing inputs swings with each neuron, ``(neurons,)``."""
        inputs, device = damage.inputs(fail), placement(damage.model).device
        said = next(activations(damage.view, [inputs], [layer.name], damage.forward, "output"))[layer.name]
        low, high = said.amin(dim=0), said.amax(dim=0)
        steps = torch.linspace(0, 1, self.points, device=device, dtype=low.dtype)
        values = low[:, None] + (high - low)[:, None] * steps
        units = torch.arange(layer.neurons, device=device).repeat_interleave(self.points)
        held = Interventions(damage.model, inputs, layer, damage.forward)
        _, credit = credits(damage.task, held.outputs((units, values.flatten())), damage.wanted(fail))
        curve = credit.mean(dim=1).reshape(layer.neurons, self.points)
        progress.step()
        found: Floats = (curve.amax(dim=1) - curve.amin(dim=1)).cpu().numpy()
        return found
