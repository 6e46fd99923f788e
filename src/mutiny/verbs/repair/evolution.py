"""Differential evolution; the objective evaluates a whole population at once, because that is where the time goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], Floats]
"""Function from candidates ``(m, d)`` to scores ``(m,)``; higher is better, NaN is worst."""
LEAST_STALE, STALE_SHARE = 10, 0.1
"""Generations without improvement that end the search: this number, or this share of all, whichever is larger."""


@dataclass(frozen=True)
class Evolution:
    """DE/rand/1/bin, with the settings of Arachne.

    Args:
        population: Candidates per generation.
        generations: Largest number of generations.
        weight: Range from which each candidate draws the factor of its difference vector.
        crossover: Probability that a number of a trial comes from the mutated vector.
    """

    population: int = 100
    generations: int = 100
    weight: tuple[float, float] = (0.5, 1.0)
    crossover: float = 0.7

    def __post_init__(self) -> None:
        check_whole("population", self.population, 4)
        check_whole("generations", self.generations, 0)
        if not 0 < self.weight[0] <= self.weight[1]:
            raise BadInput("weight", self.weight, "a range above 0")
        if not 0 <= self.crossover <= 1:
            raise BadInput("crossover", self.crossover, "a probability")


@dataclass(frozen=True)
class Evolved:
    """Result of an evolution.

    Attributes:
        best: The best candidate, ``(d,)``.
        score: Score of the best candidate.
        generations: Number of generations computed.
        history: Best score of the first population, then after each generation.
        ranked: The last population, best first, ``(population, d)``.
    """

    best: Floats
    score: float
    generations: int
    history: tuple[float, ...]
    ranked: Floats


def evolve(
    objective: Objective, start: Floats, low: Floats, high: Floats, settings: Evolution, rng: np.random.Generator
) -> Evolved:
    """Maximizes ``objective`` between ``low`` and ``high``.

    Args:
        objective: Function that scores a population.
        start: The first population, ``(population, d)``. The best score never falls below that of its best member.
        low: Smallest value of each number, ``(d,)``.
        high: Largest value of each number, ``(d,)``.
        settings: Settings of the evolution.
        rng: Random generator.

    >>> rng = np.random.default_rng(0)
    >>> start, low, high = rng.uniform(-3, 3, (20, 2)), np.full(2, -3.0), np.full(2, 3.0)
    >>> evolved = evolve(lambda x: -(x**2).sum(1), start, low, high, Evolution(20, 60), rng)
    >>> bool(evolved.score > -1e-3)
    True
    """
    population = np.clip(start, low, high)
    scores = _scores(objective, population)
    history, stale = [float(scores.max())], 0
    patience = max(LEAST_STALE, int(STALE_SHARE * settings.generations))
    for _ in range(settings.generations):
        trials = np.clip(_trials(population, settings, rng), low, high)
        trial_scores = _scores(objective, trials)
        better = trial_scores >= scores
        population, scores = np.where(better[:, None], trials, population), np.where(better, trial_scores, scores)
        history.append(float(scores.max()))
        stale = 0 if history[-1] > history[-2] else stale + 1
        if stale >= patience:
            break
    ranked = population[np.argsort(-scores, kind="stable")]
    return Evolved(ranked[0], float(scores.max()), len(history) - 1, tuple(history), ranked)


def _trials(population: Floats, settings: Evolution, rng: np.random.Generator) -> Floats:
    """One trial per candidate: another candidate plus the scaled difference of two more, crossed with the candidate."""
    count, size = population.shape
    others = np.argsort(rng.random((count, count - 1)), axis=1)[:, :3]
    others += others >= np.arange(count)[:, None]  # never the candidate itself
    base, first, second = (population[others[:, place]] for place in range(3))
    factor = rng.uniform(*settings.weight, (count, 1))
    crossed = rng.random((count, size)) < settings.crossover
    crossed[np.arange(count), rng.integers(size, size=count)] = True  # at least one number of each trial is new
    return np.where(crossed, base + factor * (first - second), population)


def _scores(objective: Objective, population: Floats) -> Floats:
    return np.nan_to_num(objective(population), nan=-np.inf)
