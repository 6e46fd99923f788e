"""Result of `attack`: outcomes at each distance, and the numbers that reports and JSON show."""

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
"""Names of the ways to attack.

With mutants; the original alone; alone with as many passes; alone with a step that fits the distance.
"""
ALPHA = 0.05
"""Significance level."""


@dataclass(frozen=True, eq=False)
class AttackOutcome:
    """Outcome of one attack in one way, such as with mutants or on the original alone.

    Attributes:
        attack: Attack as a user would write it.
        inputs: New inputs, ``(n, ...)``.
        said: Answers of the original to them, ``(n,)``.
        fooled: Whether these answers are wrong, ``(n,)``.
        distances: ``linf``, ``l2`` and ``l1`` to the old inputs, ``(n,)`` each.
        passes: Number of forward and backward passes, each of one input through one model.
        seconds: Duration.
    """

    attack: str
    inputs: Any
    said: Ints
    fooled: Bools
    distances: Mapping[str, Floats]
    passes: int
    seconds: float

    def of_all(self) -> Rate:
        """Share of wrong answers after the attack, of all inputs."""
        return Rate.of(self.fooled)

    def of_correct(self, correct: Bools) -> Rate:
        """Share of correct answers that are lost, of all correct ones."""
        return Rate.of(self.fooled[correct])

    def summary(self, correct: Bools, shared: Bools) -> WaySummary:
        """Returns the numbers of this attack.

        Args:
            correct: Whether each input was answered correctly before, ``(n,)``.
            shared: Whether each input is lost in every way, ``(n,)``.
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
    """Distances with mutants and in another way, on inputs that were correct before and that both fool.

    Attributes:
        inputs: Number of these inputs.
        ours: Mean L2 distance with mutants.
        theirs: Mean L2 distance of the other way.
        interval: 95% bootstrap interval of the mean difference, over inputs.
        p_value: P-value of Wilcoxon's test on the differences.
    """

    inputs: int
    ours: float
    theirs: float
    interval: Interval
    p_value: float

    @property
    def difference(self) -> float:
        """Difference of the means; negative if mutants come nearer."""
        return self.ours - self.theirs

    @property
    def clear(self) -> bool:
        """Whether the difference is significant by the test and by the interval."""
        return self.p_value < ALPHA and not self.interval.low <= 0 <= self.interval.high

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"value": self.difference, **to_plain(vars(self))}


@dataclass(frozen=True, eq=False)
class Level:
    """Outcomes of all ways at one distance.

    Attributes:
        eps: Largest distance; ``None`` for an attack that searches for the nearest input.
        ways: Outcomes by name.
        correct: Whether each input was answered correctly before, ``(n,)``.
    """

    eps: float | None
    ways: Mapping[str, AttackOutcome]
    correct: Bools

    def gain(self, over: str = BUDGET) -> tuple[float, Interval]:
        """Returns the share of correct inputs that mutants fool minus that of another way, and its interval.

        See `mutiny.core.stats.paired_difference`.
        """
        ours, theirs = (outcome.fooled[self.correct] for outcome in self._pair(over))
        wins, losses = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        return (wins - losses) / max(1, len(ours)), paired_difference(wins, losses, len(ours))

    def nearer(self, over: str = BUDGET) -> Nearer | None:
        """Compares the L2 distances with mutants and in another way; none if there is no input that both fool."""
        ours, theirs = self._pair(over)
        both = self.correct & ours.fooled & theirs.fooled
        if not both.any():
            return None
        near, far = (outcome.distances["l2"][both] for outcome in (ours, theirs))
        interval = bootstrap(near - far, np.mean, 0, "attack", "nearer", over)
        return Nearer(int(both.sum()), float(near.mean()), float(far.mean()), interval, wilcoxon(near, far))

    def summary(self) -> LevelSummary:
        """Returns the numbers of this level."""
        shared, others = self.everywhere(), [name for name in self.ways if name != MUTANTS]
        return LevelSummary(
            eps=self.eps,
            ways={name: way.summary(self.correct, shared) for name, way in self.ways.items()},
            gains={name: AttackGain(*self.gain(name)) for name in (BUDGET, SANE) if name in self.ways},
            nearer={name: self.nearer(name) for name in others} if self.eps is None else {},
        )

    def everywhere(self) -> Bools:
        """Whether each input was correct before and is fooled in every way, ``(n,)``."""
        lost: Bools = np.logical_and.reduce([self.correct, *(outcome.fooled for outcome in self.ways.values())])
        return lost

    def _pair(self, over: str) -> tuple[AttackOutcome, AttackOutcome]:
        if over not in self.ways:
            raise BadInput(
                "over",
                repr(over),
                f"one of {', '.join(self.ways)}",
                "There is no other way without mutants or baselines, or if the attack cannot use more passes.",
            )
        return self.ways[MUTANTS], self.ways[over]


@dataclass(frozen=True)
class WaySummary:
    """Numbers of one attack in one way.

    Attributes:
        attack: Attack as a user would write it.
        of_all: Share of wrong answers after the attack, of all inputs.
        of_correct: Share of correct answers that are lost, of all correct ones.
        distance: Mean distance of the lost inputs by norm; ``None`` if none is lost.
        passes: Number of forward and backward passes, each of one input through one model.
        seconds: Duration; ``None`` if loaded from JSON.
        shared_l2: Mean L2 distance of the inputs that are lost in every way; ``None`` if there are none, or if loaded
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
        """Inverse of `to_json`."""
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
    """Share of correct inputs that mutants fool minus that of another way, with the 95% interval."""

    value: float
    interval: Interval


@dataclass(frozen=True)
class LevelSummary:
    """Numbers of all ways at one distance.

    Attributes:
        eps: Largest distance; ``None`` for an attack that searches for the nearest input.
        ways: Numbers by way; the ensemble with mutants comes first.
        gains: Gain of the mutants over other ways; only over the same budget if loaded from JSON.
        nearer: Comparison of distances with other ways, for attacks that search for the nearest input.
    """

    eps: float | None
    ways: Mapping[str, WaySummary]
    gains: Mapping[str, AttackGain]
    nearer: Mapping[str, Nearer | None]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        plain: dict[str, Any] = {"eps": self.eps, **self.ways[MUTANTS].to_json()}
        plain["baseline"] = {name: way.to_json() for name, way in self.ways.items() if name != MUTANTS}
        if BUDGET in self.gains:
            plain["gain"] = to_plain(self.gains[BUDGET])
        if self.eps is None:
            plain["nearer"] = {name: distance and distance.to_json() for name, distance in self.nearer.items()}
        return plain

    @classmethod
    def from_plain(cls, value: object, where: str) -> LevelSummary:
        """Inverse of `to_json`."""
        given = JsonObject(value, where)
        others = given.get("baseline", Mapping[str, WaySummary], {})
        gain = given.get("gain", AttackGain | None, None)
        return cls(
            eps=given.get("eps", float | None),
            ways={MUTANTS: WaySummary.from_plain(value, where), **others},
            gains={} if gain is None else {BUDGET: gain},
            nearer=given.get("nearer", Mapping[str, Nearer | None], {}),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Robustness(Result):
    """Robustness of a model against attacks, alone and with its mutants.

    Attributes:
        attack: Attack as a user would write it.
        mutants: Description of each mutant.
        similarity: Linear CKA of all pairs, the original first, ``(n + 1, n + 1)``.
        levels: Outcomes at each distance, with arrays; empty if loaded from JSON.
        indices: Indices of the attacked inputs in the data, ``(n,)``; empty if loaded from JSON.
        inputs: Inputs before the attack, ``(n, ...)``; ``None`` if loaded from JSON.
        labels: Labels of these inputs, ``(n,)``; empty if loaded from JSON.
        notes: Caveats, one sentence each.
        loaded: Numbers at each distance, in a result loaded from JSON; see `results`.
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
        """Numbers at each distance, of live and loaded results alike."""
        return tuple(level.summary() for level in self.levels) or self.loaded

    def shown(self) -> Level:
        """Returns the level to draw: the first at which a correct answer is lost, or the last."""
        lost = (level for level in self.levels if (level.ways[MUTANTS].fooled & level.correct).any())
        return next(lost, self.levels[-1])

    def details(self) -> dict[str, Any]:
        """Returns the part of `to_json` that only this verb has."""
        return {
            "attack": self.attack,
            "mutants": list(self.mutants),
            "similarity": to_plain(self.similarity),
            "results": [level.to_json() for level in self.results],
        }

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """Inverse of `details`; inputs are not in JSON."""
        results = given.get("results", tuple[LevelSummary, ...])
        expect(len(results) > 0, "results", [], "at least one")
        expect(len({tuple(level.ways) for level in results}) == 1, "results", "levels", "the same ways at each level")
        similarity = given.get("similarity", tuple[tuple[float, ...], ...], ())
        expect(len({*map(len, similarity)}) <= 1, "similarity", "rows", "rows of one length")
        empty = np.zeros(0, np.int64)
        return {
            "attack": given.get("attack", str),
            "mutants": given.get("mutants", tuple[str, ...]),
            "similarity": np.array(similarity, np.float64),
            "levels": (),
            "indices": empty,
            "inputs": None,
            "labels": empty,
            "loaded": results,
        }

    def tables(self) -> dict[str, Rows]:
        """Returns the table ``levels`` with a row for every way at every distance."""
        return {"levels": [_row(level, name, way) for level in self.results for name, way in level.ways.items()]}

    def metrics(self) -> dict[str, float]:
        """Returns shares of correct answers that are lost, by way and distance."""
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
