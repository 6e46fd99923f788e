"""What `attack` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.core.json_values import JsonObject, expect, to_plain
from mutiny.core.results import ModelAndInputs, Result, Rows, finite
from mutiny.core.stats import Interval, Rate, bootstrap, paired_difference, wilcoxon

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

    def summary(self, correct: Bools, shared: Bools) -> WaySummary:
        """The numbers of this attack.

        Args:
            correct: Inputs that were answered correctly before, ``(n,)``.
            shared: Inputs that are lost in every way, ``(n,)``.
        """
        lost = self.fooled & correct
        return WaySummary(
            attack=self.attack,
            of_all=self.of_all(),
            of_correct=self.of_correct(correct),
            distance={norm: _mean(values, lost) for norm, values in self.distances.items()},
            passes=self.passes,
            seconds=self.seconds,
            shared_l2=_mean(self.distances["l2"], shared),
        )


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

    def summary(self) -> LevelSummary:
        """The numbers of this level."""
        shared, others = self.everywhere(), [name for name in self.ways if name != MUTANTS]
        return LevelSummary(
            eps=self.eps,
            ways={name: way.summary(self.correct, shared) for name, way in self.ways.items()},
            gains={name: AttackGain(*self.gain(name)) for name in (BUDGET, SANE) if name in self.ways},
            nearer={name: self.nearer(name) for name in others} if self.eps is None else {},
        )

    def everywhere(self) -> Bools:
        """Inputs that were right before and that every way fools, ``(n,)``."""
        found: Bools = np.logical_and.reduce([self.correct, *(one.fooled for one in self.ways.values())])
        return found

    def _pair(self, over: str) -> tuple[Assault, Assault]:
        if over not in self.ways:
            raise BadInput(
                "over",
                repr(over),
                f"one of {', '.join(self.ways)}",
                "Without mutants or without baselines, and for attacks that cannot use more passes, there is no other.",
            )
        return self.ways[MUTANTS], self.ways[over]


@dataclass(frozen=True)
class WaySummary:
    """The numbers of one attack in one way.

    Attributes:
        attack: the attack as a user would write it.
        of_all: wrong answers after the attack, of all inputs.
        of_correct: correct answers that are lost, of all correct ones.
        distance: mean distance of the lost inputs by norm; ``None`` if none is lost.
        passes: forward and backward passes, one input and model each.
        seconds: duration; ``None`` if loaded from JSON.
        shared_l2: mean L2 distance of the inputs that are lost in every way; ``None`` if there are none, or if loaded
            from JSON.
    """

    attack: str
    of_all: Rate
    of_correct: Rate
    distance: Mapping[str, float | None]
    passes: int
    seconds: float | None = None
    shared_l2: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "attack": self.attack,
            "success_rate": to_plain({"of_all": self.of_all.to_json(), "of_correct": self.of_correct.to_json()}),
            "distance": dict(self.distance),
            "passes": self.passes,
        }

    @classmethod
    def from_plain(cls, value: object, where: str) -> WaySummary:
        """The way back from `to_json`."""
        given = JsonObject(value, where)
        rates = given.object("success_rate")
        return cls(
            attack=given.get("attack", str),
            of_all=rates.get("of_all", Rate),
            of_correct=rates.get("of_correct", Rate),
            distance=given.get("distance", Mapping[str, float | None]),
            passes=given.get("passes", int),
        )


@dataclass(frozen=True)
class AttackGain:
    """By how many more of the correct inputs the mutants fool than another way, with the 95% interval."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class LevelSummary:
    """The numbers of all ways at one distance.

    Attributes:
        eps: how far inputs might go; ``None`` for an attack that looks for the nearest.
        ways: numbers by way; the ensemble with mutants comes first.
        gains: gain of the mutants over other ways; only over the same budget if loaded from JSON.
        nearer: for attacks that look for the nearest, how much nearer mutants come than other ways.
    """

    eps: float | None
    ways: Mapping[str, WaySummary]
    gains: Mapping[str, AttackGain]
    nearer: Mapping[str, Nearer | None]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told: dict[str, Any] = {"eps": self.eps, **self.ways[MUTANTS].to_json()}
        told["baseline"] = {name: way.to_json() for name, way in self.ways.items() if name != MUTANTS}
        if BUDGET in self.gains:
            told["gain"] = to_plain(self.gains[BUDGET])
        if self.eps is None:
            told["nearer"] = {name: distance and distance.to_json() for name, distance in self.nearer.items()}
        return told

    @classmethod
    def from_plain(cls, value: object, where: str) -> LevelSummary:
        """The way back from `to_json`."""
        given = JsonObject(value, where)
        others = given.get("baseline", Mapping[str, WaySummary], {})
        gain = given.get("gain", AttackGain | None, None)
        return cls(
            eps=given.get("eps", float | None),
            ways={MUTANTS: WaySummary.from_plain(value, where), **others},
            gains={} if gain is None else {BUDGET: gain},
            nearer=given.get("nearer", Mapping[str, Nearer | None], {}),
        )


@dataclass(frozen=True, repr=False)
class Robustness(Result):
    """How a model stands up to attacks, alone and with its mutants.

    Attributes:
        attack: the attack as a user would write it.
        mutants: description of each mutant.
        similarity: linear CKA of all pairs, the original first, ``(n + 1, n + 1)``.
        levels: one for each distance, with arrays; empty if loaded from JSON.
        indices: of the attacked inputs in the data, ``(n,)``; empty if loaded from JSON.
        inputs: before the attack, ``(n, ...)``; ``None`` if loaded from JSON.
        labels: of these inputs, ``(n,)``; empty if loaded from JSON.
        notes: caveats, one sentence each.
        loaded: the numbers of each distance, in a result loaded from JSON; see `results`.
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
    loaded: tuple[LevelSummary, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{'nearest' if level.eps is None else f'{level.eps:g}'}: {level.ways[MUTANTS].of_correct.value or 0:.0%}"
            for level in self.results
        )
        return f"Robustness({self.attack!r}, {len(self.mutants)} mutants, fooled {shown})"

    @cached_property
    def results(self) -> tuple[LevelSummary, ...]:
        """The numbers of each distance, of live and loaded results alike."""
        return tuple(level.summary() for level in self.levels) or self.loaded

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
            "results": [level.to_json() for level in self.results],
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """The way back from `details`; inputs are not in JSON."""
        results = given.get("results", tuple[LevelSummary, ...])
        expect(len(results) > 0, "results", [], "at least one")
        expect(len({tuple(level.ways) for level in results}) == 1, "results", "levels", "the same ways at each level")
        similarity = given.get("similarity", tuple[tuple[float, ...], ...], ())
        expect(len({*map(len, similarity)}) <= 1, "similarity", "rows", "rows of one length")
        none = np.zeros(0, np.int64)
        return {
            "attack": given.get("attack", str),
            "mutants": given.get("mutants", tuple[str, ...]),
            "similarity": np.array(similarity, np.float64),
            "levels": (),
            "indices": none,
            "inputs": None,
            "labels": none,
            "loaded": results,
        }

    def tables(self) -> dict[str, Rows]:
        """``levels``: every way at every distance."""
        return {"levels": [_row(level, name, way) for level in self.results for name, way in level.ways.items()]}

    def metrics(self) -> dict[str, float]:
        """Shares of the right answers that are lost, by way and distance."""
        return finite(
            {
                f"fooled.{name}.{'nearest' if level.eps is None else f'{level.eps:g}'}": way.of_correct.value
                for level in self.results
                for name, way in level.ways.items()
            }
        )


def _mean(values: Floats, which: Bools) -> float | None:
    return float(values[which].mean()) if which.any() else None


def _row(level: LevelSummary, name: str, way: WaySummary) -> dict[str, Any]:
    rate = way.of_correct
    return {
        "eps": level.eps,
        "way": name,
        "attack": way.attack,
        "fooled": rate.value,
        "low": rate.interval.low,
        "high": rate.interval.high,
        **way.distance,
        "passes": way.passes,
        "seconds": way.seconds,
    }
