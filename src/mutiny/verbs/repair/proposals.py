"""From knobs to patches that are worth a look: evolution, and what it passed by."""

from __future__ import annotations

import numpy as np

from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.models.variants import WeightVariants
from mutiny.verbs.repair.credit import credits
from mutiny.verbs.repair.damage import Damage, Ints
from mutiny.verbs.repair.evolution import Evolution, Floats, evolve
from mutiny.verbs.repair.knobs import Knobs

PROPOSED = 10
"""The best of the last generation, which are handed on."""
GAINFUL = 5
"""Candidates of any generation that gain most, which are handed on too."""


class Weighing:
    """Judges settings of knobs by the mean credit of their answers, in which a failing input counts ``alpha`` times.

    That is what evolution climbs. Beside it stands what a repair is judged by in the end, mended failures less broken
    passes, each in proportion to how many of them the repair split has: the settings with most of it are remembered.

    Args:
        damage: what is to be mended.
        knobs: what is turned.
        fail: failing inputs that are looked at.
        passing: passing inputs that are looked at.
        alpha: weight of failing inputs against passing ones.
        progress: told of every generation.
    """

    def __init__(
        self, damage: Damage, knobs: Knobs, fail: Ints, passing: Ints, alpha: float, progress: Progress
    ) -> None:
        indices = np.concatenate([fail, passing])
        self._task, self._knobs, self._progress = damage.task, knobs, progress
        self._wanted = damage.wanted(indices)
        self._variants = WeightVariants(damage.model, damage.inputs(indices), knobs.entries, damage.forward)
        sizes, totals = np.array([len(fail), len(passing)]), np.array([damage.failing.sum(), (~damage.failing).sum()])
        importance = np.repeat([alpha, 1.0], sizes)
        self._importance: Floats = importance / importance.sum()
        self._stands_for: Floats = np.repeat(totals / np.maximum(sizes, 1), sizes)
        self._passing = float(totals[1])
        self.gainful: list[tuple[float, Floats]] = []

    def __call__(self, settings: Floats) -> Floats:
        """The mean credit of each, ``(m,)``."""
        right, credit = credits(self._task, self._variants.outputs(self._knobs.values(settings)), self._wanted)
        gains = right.cpu().numpy() @ self._stands_for - self._passing
        for at in np.argsort(-gains, kind="stable")[:GAINFUL]:
            self.gainful.append((float(gains[at]), settings[at].copy()))
        self.gainful = sorted(self.gainful, key=lambda one: -one[0])[:GAINFUL]
        self._progress.step()
        found: Floats = credit.cpu().numpy() @ self._importance
        return found

    def patches(
        self, start: Floats, low: Floats, high: Floats, evolution: Evolution, rng: np.random.Generator
    ) -> list[Patch]:
        """The best of the last generation, and the most gainful of all."""
        self._progress.stage("searching", evolution.generations + 1)
        found = evolve(self, start, low, high, evolution, rng)
        chosen = [*found.ranked[:PROPOSED], *(setting for gain, setting in self.gainful if gain > 0)]
        return [self._knobs.patch(setting) for setting in chosen]
