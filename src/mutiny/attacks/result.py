"""What `attack` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.records import to_plain
from mutiny.stats import Interval, Rate, paired_difference

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
MUTANTS, ORIGINAL, BUDGET, SANE = "mutants", "original", "same budget", "sane step"
"""Ways: the ensemble; the same attack on the original alone; that with as many passes; with a step that fits."""


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

        See `mutiny.stats.paired_difference`.
        """
        ours, theirs = (self.ways[name].fooled[self.correct] for name in (MUTANTS, over))
        wins, losses = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
        return (wins - losses) / max(1, len(ours)), paired_difference(wins, losses, len(ours))


@dataclass(frozen=True, repr=False)
class Robustness:
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

    subject: Mapping[str, Any]
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

    def to_json(self) -> dict[str, Any]:
        """Plain values, versioned; what depends on the clock is under ``timing`` and nowhere else."""
        return {
            "schema": 1,
            "verb": "attack",
            "subject": to_plain(self.subject),
            "settings": to_plain(self.settings),
            "versions": dict(self.versions),
            "attack": self.attack,
            "mutants": list(self.mutants),
            "similarity": to_plain(self.similarity),
            "results": [_level(level) for level in self.levels],
            "notes": list(self.notes),
            "timing": {"created": self.created, "seconds": round(self.seconds, 3)},
        }


def _level(level: Level) -> dict[str, Any]:
    ways = {name: _way(one, level.correct) for name, one in level.ways.items()}
    told: dict[str, Any] = {"eps": level.eps, **ways[MUTANTS]}
    told["baseline"] = {name: way for name, way in ways.items() if name != MUTANTS}
    if BUDGET in ways:
        value, interval = level.gain()
        told["gain"] = {"value": value, "interval": to_plain(interval)}
    return told


def _way(one: Assault, correct: Bools) -> dict[str, Any]:
    return {
        "attack": one.attack,
        "success_rate": to_plain({"of_all": one.of_all().to_json(), "of_correct": one.of_correct(correct).to_json()}),
        "distance": {norm: float(values[one.fooled].mean()) if one.fooled.any() else None
                     for norm, values in one.distances.items()},
        "passes": one.passes,
    }  # fmt: skip
