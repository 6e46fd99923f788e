"""Differential evolution of whole populations: the objective is what takes time, so it sees them all at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput

Floats = npt.NDArray[np.float64]
Objective = Callable[[Floats], Floats]
"""From candidates ``(m, d)`` to how good each is, ``(m,)``; higher is better, NaN is worst."""
LEAST_STALE, STALE_SHARE = 10, 0.1
"""Generations without gain after which the search ends: this many, or this share of all, whichever is more."""


@dataclass(frozen=True)
class Evolution:
    """DE/rand/1/bin, with the settings of Arachne.

    Args:
        population: candidates of a generation.
        generations: at most so many.
        weight: the range from which each candidate draws the factor of its difference vector.
        crossover: probability that a number comes from the mutant.
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
    """What a search found.

    Attributes:
        best: the best candidate, ``(d,)``.
        score: how good it is.
        generations: that were computed.
        history: the best score after each, the first population included.
        ranked: the last population, best first, ``(population, d)``.
    """

    best: Floats
    score: float
    generations: int
    history: tuple[float, ...]
    ranked: Floats


def evolve(
    objective: Objective, start: Floats, low: Floats, high: Floats, settings: Evolution, rng: np.random.Generator
) -> Evolved:
    """Maximises ``objective`` between ``low`` and ``high``.

    Args:
        objective: judges whole populations.
        start: the first population, ``(population, d)``; it may hold the present values, so that nothing gets worse.
        low: least value of each number, ``(d,)``.
        high: largest value.
        settings: see `Evolution`.
        rng: of everything random.

    >>> rng = np.random.default_rng(0)
    >>> found = evolve(lambda x: -(x**2).sum(1), rng.uniform(-3, 3, (20, 2)), np.full(2, -3.0), np.full(2, 3.0),
    ...                Evolution(20, 60), rng)
    >>> bool(found.score > -1e-3)
    True
    """
    people = np.clip(start, low, high)
    scores = _judged(objective, people)
    history, stale = [float(scores.max())], 0
    patience = max(LEAST_STALE, int(STALE_SHARE * settings.generations))
    for _ in range(settings.generations):
        trials = np.clip(_trials(people, settings, rng), low, high)
        found = _judged(objective, trials)
        better = found >= scores
        people, scores = np.where(better[:, None], trials, people), np.where(better, found, scores)
        history.append(float(scores.max()))
        stale = 0 if history[-1] > history[-2] else stale + 1
        if stale >= patience:
            break
    ranked = people[np.argsort(-scores, kind="stable")]
    return Evolved(ranked[0], float(scores.max()), len(history) - 1, tuple(history), ranked)


def _trials(people: Floats, settings: Evolution, rng: np.random.Generator) -> Floats:
    """One trial for each candidate: three others, of which two make a difference that is added to the third."""
    count, size = people.shape
    others = np.argsort(rng.random((count, count - 1)), axis=1)[:, :3]
    others += others >= np.arange(count)[:, None]  # never the candidate itself
    base, first, second = (people[others[:, place]] for place in range(3))
    factor = rng.uniform(*settings.weight, (count, 1))
    crossed = rng.random((count, size)) < settings.crossover
    crossed[np.arange(count), rng.integers(size, size=count)] = True
    return np.where(crossed, base + factor * (first - second), people)


def _judged(objective: Objective, people: Floats) -> Floats:
    return np.nan_to_num(objective(people), nan=-np.inf)
