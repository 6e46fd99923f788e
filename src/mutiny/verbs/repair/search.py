"""Repair by a search for new values of the weights to blame (Arachne)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.progress import Progress
from mutiny.core.stats.pareto import pareto_front
from mutiny.models import Patch
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.blame import Blame, blame
from mutiny.verbs.repair.evolution import Evolution, Floats
from mutiny.verbs.repair.fitness import Fitness
from mutiny.verbs.repair.parametrization import Parametrization
from mutiny.verbs.repair.problem import Ints, RepairProblem


@dataclass(frozen=True)
class WeightSearch(RepairMethod):
    """Changes the weights that matter to failures and not to passes, by differential evolution.

    The weights are those on the Pareto front of gradient and impact, see `mutiny.verbs.repair.blame`.

    Args:
        population: Candidates per generation.
        generations: Largest number of generations; a tenth of them without improvement ends the search.
        alpha: Weight of a failing input relative to a passing one.
        failures: Largest number of failing inputs to use.
        passes: Passing inputs to use per failing one; more of them keep a patch from breaking passing inputs.
        weights: Smallest number of weights to change: further Pareto fronts are added until it is reached; only the
            first front by default.
    """

    code: ClassVar[str] = "search"
    title: ClassVar[str] = "search over the weights to blame"
    source: ClassVar[str] = "Sohn, Kang, Yoo, Arachne, TOSEM 2023"

    population: int = 100
    generations: int = 100
    alpha: float = 10.0
    failures: int = 200
    passes: float = 1.0
    weights: int | None = None

    def __post_init__(self) -> None:
        Evolution(self.population, self.generations)  # checks both
        check_whole("failures", self.failures)
        check_whole("weights", 1 if self.weights is None else self.weights)
        check_positive("alpha", self.alpha)
        check_positive("passes", self.passes)

    def patches(self, problem: RepairProblem, progress: Progress) -> Sequence[Patch]:
        """The best candidates of an evolution of weights."""
        fail, passing = problem.sample(self.failures, self.passes)
        progress.stage("blaming weights", 2)
        on_failures, on_passes = (
            _blame(problem, problem.learnable(indices, self.code), progress) for indices in (fail, passing)
        )
        weights = [weight for layer in problem.layers for weight in layer.weights]
        chosen = fronts(on_failures.over(on_passes), self.weights)
        parametrization = Parametrization.of_weights(problem.view, weights, chosen)
        start, low, high = self._start(problem, parametrization)
        fitness = Fitness(problem, parametrization, fail, passing, self.alpha, progress)
        evolution = Evolution(self.population, self.generations)
        return fitness.patches(start, low, high, evolution, problem.rng("search"))

    def _start(self, problem: RepairProblem, parametrization: Parametrization) -> tuple[Floats, Floats, Floats]:
        """The first population, and the bounds of each weight.

        Values are drawn with the mean and spread of the weight's tensor; the first candidate is the current weights.
        """
        size = sum(map(len, parametrization.variable.values()))
        mean, spread, low, high, now = np.empty((5, size))
        for name, variable in parametrization.variable.items():
            tensor = problem.view.parameters[name].detach().double()
            least, most = float(tensor.min()), float(tensor.max())
            mean[variable], spread[variable] = float(tensor.mean()), float(tensor.std(correction=0))
            low[variable], high[variable] = least - abs(least), most + abs(most)
            now[variable] = parametrization.current(name).double()
        start = problem.rng("population").normal(mean, spread, (self.population, size))
        start[0] = now
        return start, low, high


def fronts(blamed: Blame, least: int | None) -> Ints:
    """Positions of the weights on the Pareto front, and on the next fronts until there are ``least``; ascending."""
    left, chosen = np.arange(len(blamed.gradient)), np.empty(0, np.int64)
    while len(left) and (not len(chosen) or (least is not None and len(chosen) < least)):
        front = pareto_front(blamed.gradient[left], blamed.impact[left])
        chosen = np.concatenate([chosen, left[front]])
        left = np.delete(left, front)
    return np.sort(chosen)


def _blame(problem: RepairProblem, indices: Ints, progress: Progress) -> Blame:
    blamed = blame(
        problem.view, problem.layers, problem.batches(indices), problem.task, problem.forward, problem.rng("outputs")
    )
    progress.step()
    return blamed
