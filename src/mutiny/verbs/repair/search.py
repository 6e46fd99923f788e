"""Search for new values of the weights to blame (Arachne)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.progress import Progress
from mutiny.core.stats.pareto import pareto_front
from mutiny.models import Patch
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.blame import Blame, blame
from mutiny.verbs.repair.damage import Damage, Ints
from mutiny.verbs.repair.evolution import Evolution, Floats
from mutiny.verbs.repair.knobs import Knobs
from mutiny.verbs.repair.proposals import Weighing


@dataclass(frozen=True)
class Search(Method):
    """Weights that failures depend on and passes do not, found by gradient and impact; then differential evolution.

    A weight is changed if no other is at least as much to blame in both respects, see `mutiny.verbs.repair.blame`. Each
    answer to a failing input counts ``alpha`` times.

    Args:
        population: candidates of a generation.
        generations: at most so many; the search ends when a tenth of them brought no gain.
        alpha: weight of failing inputs against passing ones.
        failures: at most so many failing inputs are looked at.
        passes: passing inputs that are looked at for each failing one. More of them keep a patch from breaking things.
        weights: at least so many are changed: further fronts are added; the first front alone if not given.
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
        Evolution(self.population, self.generations)  # which checks them
        check_whole("failures", self.failures)
        check_whole("weights", 1 if self.weights is None else self.weights)
        check_positive("alpha", self.alpha)
        check_positive("passes", self.passes)

    def patches(self, damage: Damage, progress: Progress) -> Sequence[Patch]:
        """The best candidates."""
        fail, passing = damage.sample(self.failures, self.passes)
        progress.stage("blaming weights", 2)
        guilt, excuse = (_blame(damage, damage.learnable(some, self.code), progress) for some in (fail, passing))
        found = guilt.over(excuse)
        weights = [weight for layer in damage.layers for weight in layer.weights]
        knobs = Knobs.of_weights(damage.view, weights, fronts(found, self.weights))
        start, low, high = self._start(damage, knobs)
        weighing = Weighing(damage, knobs, fail, passing, self.alpha, progress)
        evolution = Evolution(self.population, self.generations)
        return weighing.patches(start, low, high, evolution, damage.rng("search"))

    def _start(self, damage: Damage, knobs: Knobs) -> tuple[Floats, Floats, Floats]:
        """The first population, drawn from the law of each weight's tensor, the present values among it; and bounds."""
        size = sum(map(len, knobs.knob.values()))
        mean, spread, low, high, now = np.empty((5, size))
        for name, which in knobs.knob.items():
            tensor = damage.view.parameters[name].detach().double()
            least, most = float(tensor.min()), float(tensor.max())
            mean[which], spread[which] = float(tensor.mean()), float(tensor.std(correction=0))
            low[which], high[which], now[which] = least - abs(least), most + abs(most), knobs.now(name).double()
        start = damage.rng("population").normal(mean, spread, (self.population, size))
        start[0] = now
        return start, low, high


def fronts(found: Blame, least: int | None) -> Ints:
    """Weights on the Pareto front, and on the fronts behind it until there are enough of them; rising."""
    left, chosen = np.arange(len(found.gradient)), np.empty(0, np.int64)
    while len(left) and (not len(chosen) or (least is not None and len(chosen) < least)):
        front = pareto_front(found.gradient[left], found.impact[left])
        chosen = np.concatenate([chosen, left[front]])
        left = np.delete(left, front)
    return np.sort(chosen)


def _blame(damage: Damage, indices: Ints, progress: Progress) -> Blame:
    found = blame(
        damage.view, damage.layers, damage.batches(indices), damage.task, damage.forward, damage.rng("outputs")
    )
    progress.step()
    return found
