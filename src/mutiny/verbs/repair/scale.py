"""Repair by scaling the neurons with the largest effect on failures (CARE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.models import Layer, Patch, activations
from mutiny.models.device import placement
from mutiny.models.variants import Interventions
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.credit import credits
from mutiny.verbs.repair.evolution import Evolution, Floats
from mutiny.verbs.repair.fitness import Fitness
from mutiny.verbs.repair.parametrization import Parametrization
from mutiny.verbs.repair.problem import Ints, RepairProblem

SPREAD = 0.5
"""Standard deviation of the first factors, whose mean is 1."""


@dataclass(frozen=True)
class Scale(RepairMethod):
    """Multiplies the neurons with the largest effect on failing inputs by factors.

    The effect of a neuron is the range of the mean credit of failing inputs while the neuron is held at values between
    its minimum and maximum: an intervention, not a correlation. Differential evolution, instead of CARE's particle
    swarm, finds the factors, which multiply incoming weights and bias. If a ReLU follows directly, as in CARE's
    networks, that equals multiplying the neuron's output; a normalization in between adds a shift that is not scaled.

    Args:
        neurons: Number of neurons to scale.
        points: Number of values at which each neuron is held.
        most: Largest factor; the smallest is 0.
        balance: Weight of passing inputs, between 0 and 1; failing inputs have the rest.
        population: Candidates per generation.
        generations: Largest number of generations.
        failures: Largest number of failing inputs to use.
        passes: Passing inputs to use per failing one; more of them keep a patch from breaking passing inputs.
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
        Evolution(self.population, self.generations)  # checks both
        check_whole("neurons", self.neurons)
        check_whole("points", self.points, 2)
        check_whole("failures", self.failures)
        check_positive("passes", self.passes)
        check_positive("most", self.most)
        if not 0 < self.balance < 1:
            raise BadInput("balance", self.balance, "a number between 0 and 1")
        if not self.most > 1:
            raise BadInput("most", self.most, "a factor above 1")

    def patches(self, problem: RepairProblem, progress: Progress) -> Sequence[Patch]:
        """The best candidates of an evolution of factors."""
        fail, passing = problem.sample(self.failures, self.passes)
        chosen = self._chosen(problem, fail, progress)
        parametrization, rng = Parametrization.of_neurons(problem.view, chosen), problem.rng("scale")
        start = rng.normal(1, SPREAD, (self.population, len(chosen)))
        start[0] = 1
        low, high = np.zeros(len(chosen)), np.full(len(chosen), self.most)
        alpha = (1 - self.balance) / self.balance * max(1, len(passing)) / max(1, len(fail))
        fitness = Fitness(problem, parametrization, fail, passing, alpha, progress)
        return fitness.patches(start, low, high, Evolution(self.population, self.generations), rng)

    def _chosen(self, problem: RepairProblem, fail: Ints, progress: Progress) -> list[tuple[Layer, int]]:
        layers = problem.visible
        progress.stage("holding neurons", len(layers))
        effects = [self._effects(problem, layer, fail, progress) for layer in layers]
        neurons = [(layer, unit) for layer in layers for unit in range(layer.neurons)]
        best = np.argsort(-np.concatenate(effects), kind="stable")[: self.neurons]
        return [neurons[at] for at in best]

    def _effects(self, problem: RepairProblem, layer: Layer, fail: Ints, progress: Progress) -> Floats:
        """Effect of each neuron of a layer, ``(neurons,)``."""
        inputs, device = problem.inputs(fail), placement(problem.model).device
        outputs = next(activations(problem.view, [inputs], [layer.name], problem.forward, "output"))[layer.name]
        low, high = outputs.amin(dim=0), outputs.amax(dim=0)
        steps = torch.linspace(0, 1, self.points, device=device, dtype=low.dtype)
        values = low[:, None] + (high - low)[:, None] * steps
        units = torch.arange(layer.neurons, device=device).repeat_interleave(self.points)
        held = Interventions(problem.model, inputs, layer, problem.forward)
        _, credit = credits(problem.task, held.outputs((units, values.flatten())), problem.targets_of(fail))
        curve = credit.mean(dim=1).reshape(layer.neurons, self.points)
        progress.step()
        effects: Floats = (curve.amax(dim=1) - curve.amin(dim=1)).cpu().numpy()
        return effects
