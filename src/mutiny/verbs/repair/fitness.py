"""Fitness of candidates in an evolution, and the patches that the evolution proposes."""

from __future__ import annotations

import numpy as np

from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.models.variants import WeightVariants
from mutiny.verbs.repair.credit import credits
from mutiny.verbs.repair.evolution import Evolution, Floats, evolve
from mutiny.verbs.repair.parametrization import Parametrization
from mutiny.verbs.repair.problem import Ints, RepairProblem

PROPOSED = 10
"""Number of candidates of the last generation that are proposed."""
GAINFUL = 5
"""Number of candidates with the largest gain in any generation that are proposed too."""


class Fitness:
    """Fitness of a candidate: mean credit of its answers, in which a failing input counts ``alpha`` times.

    Evolution maximizes the fitness. A repair is judged by its gain, which is fixed failures minus broken passes; so the
    candidates with the largest gain, extrapolated to the whole repair split, are remembered too.

    Args:
        problem: Problem to solve.
        parametrization: Weights that candidates set or scale.
        fail: Positions of the failing inputs to evaluate.
        passing: Positions of the passing inputs to evaluate.
        alpha: Weight of a failing input relative to a passing one.
        progress: Receiver of progress messages; one step per generation.
    """

    def __init__(
        self,
        problem: RepairProblem,
        parametrization: Parametrization,
        fail: Ints,
        passing: Ints,
        alpha: float,
        progress: Progress,
    ) -> None:
        indices = np.concatenate([fail, passing])
        self._task, self._parametrization, self._progress = problem.task, parametrization, progress
        self._targets = problem.targets_of(indices)
        self._variants = WeightVariants(
            problem.model, problem.inputs(indices), parametrization.entries, problem.forward
        )
        sizes, totals = np.array([len(fail), len(passing)]), np.array([problem.failing.sum(), (~problem.failing).sum()])
        importance = np.repeat([alpha, 1.0], sizes)
        self._importance: Floats = importance / importance.sum()
        self._represents: Floats = np.repeat(totals / np.maximum(sizes, 1), sizes)
        self._passing = float(totals[1])
        self.gainful: list[tuple[float, Floats]] = []

    def __call__(self, candidates: Floats) -> Floats:
        """Fitness of each candidate, ``(m,)``."""
        outputs = self._variants.outputs(self._parametrization.values(candidates))
        right, credit = credits(self._task, outputs, self._targets)
        gains = right.cpu().numpy() @ self._represents - self._passing
        for at in np.argsort(-gains, kind="stable")[:GAINFUL]:
            self.gainful.append((float(gains[at]), candidates[at].copy()))
        self.gainful = sorted(self.gainful, key=lambda entry: -entry[0])[:GAINFUL]
        self._progress.step()
        fitness: Floats = credit.cpu().numpy() @ self._importance
        return fitness

    def patches(
        self, start: Floats, low: Floats, high: Floats, evolution: Evolution, rng: np.random.Generator
    ) -> list[Patch]:
        """Evolves a population; the best patches of the last generation, then those with the largest gain of all."""
        self._progress.stage("searching", evolution.generations + 1)
        evolved = evolve(self, start, low, high, evolution, rng)
        chosen = [*evolved.ranked[:PROPOSED], *(candidate for gain, candidate in self.gainful if gain > 0)]
        return [self._parametrization.patch(candidate) for candidate in chosen]
