"""What `attack` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.core.records import to_plain
from mutiny.core.results import Result, Rows, finite
from mutiny.core.stats import Interval, Rate, bootstrap, paired_difference, wilcoxon
from mutiny.core.subject_records import ModelAndInputs

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MUTANTS, ORIGINAL, BUDGET, SANE = "mutants", "original", "same budget", "sane step"
"""Ways: the ensemble; the same attack on the original alone; that with as many passes allowed; with a step that fits.
"""
ALPHA = 0.05
"""Below this a p-value is significant."""


@dataclass(frozen=True, eq=False)
class Assault:
    """One attack in one way.

    Attributes:
        attack: as a user would write it.
        inputs: new inputs, ``(n, ...)``.
        said: what the original says to them, ``(n,)``.
        fooled: which of them it gets wrong, ``(n,)``.
        distances: ``linf``, ``l2`` and ``l1`` to the old inputs, ``(n,)`` each.
        passes: forward and backward passes, one input and model each.
        seconds: that it took.
    """

    attack: str
    inputs: Any
    said: Ints
    fooled: Bools
    distances: Mapping[str, Floats]
    passes: int
    seconds: float

    def of_all(self) -> Rate:
        """Wrong answers after the attack, of all inputs."""
        return Rate.of(self.fooled)

    def of_correct(self, correct: Bools) -> Rate:
        """Answers that were right before and are lost, of those that were right."""
        return Rate.of(self.fooled[correct])


@dataclass(frozen=True)
class Nearer:
    """How far mutants go and how far another way goes, on the inputs that were right before and that both fool.

    Attributes:
        inputs: how many.
        ours: mean L2 distance with mutants.
        theirs: that of the other way.
        interval: of the mean difference, by bootstrap over inputs, 95%.
        p_value: of Wilcoxon's test on the differences.
    """

    inputs: int
    ours: float
    theirs: float
    interval: Interval
    p_value: float

    @property
    def difference(self) -> float:
        """Below 0 where mutants come nearer."""
        return self.ours - self.theirs

    @property
    def clear(self) -> bool:
        """Whether it is significant, by both."""
        return self.p_value < ALPHA and not self.interval.low <= 0 <= self.interval.high

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"value": self.difference, **to_plain(vars(self))}


@dataclass(frozen=True, eq=False)
class Level:
    """All ways at one distance.

    Attributes:
        eps: how far inputs might go; ``None`` for an attack that looks for the nearest.
        ways: by name.
        correct: inputs with right answers before, ``(n,)``.
    """

    eps: float | None
    ways: Mapping[str, Assault]
    correct: Bools

    def gain(self, over: str = BUDGET) -> tuple[float, Interval]:
        """By how many more of the correct inputs the mutants fool than another way, and where that lies.

        See `mutiny.core.stats.paired_difference`.
        """
        ours, theirs = (one.fooled[self.correct] for one in self._pair(over))
        wins, losses = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        return (wins - losses) / max(1, len(ours)), paired_difference(wins, losses, len(ours))

    def nearer(self, over: str = BUDGET) -> Nearer | None:
        """How much nearer mutants come than another way, in L2; none where there is no input that both fool."""
        ours, theirs = self._pair(over)
        both = self.correct & ours.fooled & theirs.fooled
        if not both.any():
            return None
        near, far = (one.distances["l2"][both] for one in (ours, theirs))
        interval = bootstrap(near - far, np.mean, 0, "attack", "nearer", over)
        return Nearer(int(both.sum()), float(near.mean()), float(far.mean()), interval, wilcoxon(near, far))

    def everywhere(self) -> Bools:
        """Inputs that were right before and that every way fools, ``(n,)``."""
        found: Bools = np.logical_and.reduce([self.correct, *(one.fooled for one in self.ways.values())])
        return found

    def _pair(self, over: str) -> tuple[Assault, Assault]:
        if over not in self.ways:
            raise BadInput(
                "over", repr(over), f"one of {', '.join(self.ways)}",
                "Without mutants or without baselines, and for attacks that cannot use more passes, there is no other.",
            )  # fmt: skip
        return self.ways[MUTANTS], self.ways[over]


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """How a model stands up to attacks, alone and with its mutants.

    Attributes:
        attack: as a user would write it.
        mutants: what each is.
        similarity: linear CKA of all pairs, the original first, ``(n + 1, n + 1)``.
        levels: one for each distance.
        indices: of the attacked inputs in the data, ``(n,)``.
        inputs: before the attack, ``(n, ...)``.
        labels: of these inputs, ``(n,)``.
        notes: what a careful reader should know.
    """

    verb: ClassVar[str] = "attack"

    subject: ModelAndInputs
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    attack: str
    mutants: tuple[str, ...]
    similarity: Floats
    levels: tuple[Level, ...]
    indices: Ints
    inputs: Any
    labels: Ints
    notes: tuple[str, ...]
    seconds: float
    created: str

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{'nearest' if level.eps is None else f'{level.eps:g}'}: "
            f"{level.ways[MUTANTS].of_correct(level.correct).value or 0:.0%}"
            for level in self.levels
        )
        return f"Robustness({self.attack!r}, {len(self.mutants)} mutants, fooled {shown})"

    def shown(self) -> Level:
        """The level to draw: the first at which any right answer is lost; the last if none is."""
        lost = (level for level in self.levels if (level.ways[MUTANTS].fooled & level.correct).any())
        return next(lost, self.levels[-1])

    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""
        return {
            "attack": self.attack,
            "mutants": list(self.mutants),
            "similarity": to_plain(self.similarity),
            "results": [_level(level) for level in self.levels],
        }

    def tables(self) -> dict[str, Rows]:
        """``levels``: every way at every distance."""
        return {"levels": [_row(level, name, one) for level in self.levels for name, one in level.ways.items()]}

    def metrics(self) -> dict[str, float]:
        """Shares of the right answers that are lost, by way and distance."""
        return finite({
            f"fooled.{name}.{'nearest' if level.eps is None else f'{level.eps:g}'}": one.of_correct(level.correct).value
            for level in self.levels for name, one in level.ways.items()
        })  # fmt: skip


def _row(level: Level, way: str, one: Assault) -> dict[str, Any]:
    rate, lost = one.of_correct(level.correct), one.fooled & level.correct
    far = {norm: float(values[lost].mean()) if lost.any() else None for norm, values in one.distances.items()}
    return {"eps": level.eps, "way": way, "attack": one.attack, "fooled": rate.value, "low": rate.interval.low,
            "high": rate.interval.high, **far, "passes": one.passes, "seconds": one.seconds}  # fmt: skip


def _level(level: Level) -> dict[str, Any]:
    ways = {name: _way(one, level.correct) for name, one in level.ways.items()}
    told: dict[str, Any] = {"eps": level.eps, **ways[MUTANTS]}
    told["baseline"] = {name: way for name, way in ways.items() if name != MUTANTS}
    if BUDGET in ways:
        value, interval = level.gain()
        told["gain"] = {"value": value, "interval": to_plain(interval)}
    if level.eps is None:
        nearer = {name: level.nearer(name) for name in told["baseline"]}
        told["nearer"] = {name: one and one.to_json() for name, one in nearer.items()}
    return told


def _way(one: Assault, correct: Bools) -> dict[str, Any]:
    lost = one.fooled & correct
    return {
        "attack": one.attack,
        "success_rate": to_plain({"of_all": one.of_all().to_json(), "of_correct": one.of_correct(correct).to_json()}),
        "distance": {norm: float(values[lost].mean()) if lost.any() else None
                     for norm, values in one.distances.items()},
        "passes": one.passes,
    }  # fmt: skip
