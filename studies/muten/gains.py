"""Two sides on the same images: by how much is one better, and is that chance?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.stats import Interval, bootstrap, sign_flip
from mutiny.verbs.attack.result import BUDGET, MUTANTS, AttackOutcome, Level
from studies.muten.assaults import bools
from studies.store import number

CsvRow = dict[str, str]
Bools = npt.NDArray[np.bool_]
LEVEL = 0.05
"""Below this a difference is significant."""


@dataclass(frozen=True)
class Gain:
    """By how many more of the images that were answered correctly one side fools a network than the other.

    Attributes:
        first: the first side's share, mean over levels.
        second: the second side's.
        interval: of the difference, 95%: exact at one level, by bootstrap over images at several.
        p_value: of the exact test over images; at one level it is McNemar's.
        rounds: the difference in each round, whose mutants are others.
        levels: over how many the mean is taken.
    """

    first: float
    second: float
    interval: Interval
    p_value: float
    rounds: tuple[float, ...]
    levels: int

    @property
    def value(self) -> float:
        """The difference."""
        return self.first - self.second

    @property
    def clear(self) -> bool:
        """Whether it is significant."""
        return self.p_value < LEVEL


def compare(levels: Iterable[tuple[Sequence[CsvRow], Sequence[CsvRow]]]) -> Gain | None:
    """Compares the rows of two sides, level by level, over the levels and rounds that both have.

    A run that was stopped may have rounds at some levels only; rounds that are not at all levels are left out.
    """
    pairs = [some for first, second in levels if (some := _same_round(first, second))]
    if not pairs:
        return None
    rounds = sorted(set.intersection(*(set(some) for some in pairs)))
    sides = [[joined([some[one][side] for one in rounds]) for some in pairs] for side in (0, 1)] if rounds else []
    if not sides or not sides[0][0][1].any():
        return None
    correct = sides[0][0][1]
    first, second = (np.array([one.fooled[correct] for one, _ in side], np.int64).sum(axis=0) for side in sides)
    apart, size = first - second, len(pairs)
    sizes = [len(bools(pairs[0][one][0]["correct"])) for one in rounds]
    where = np.repeat(np.arange(len(rounds)), sizes)[correct]
    if size == 1:
        interval = Level(None, {MUTANTS: sides[0][0][0], BUDGET: sides[1][0][0]}, correct).gain()[1]
    else:
        interval = bootstrap(apart / size, np.mean, 0, "muten study", "gain")
    return Gain(
        float(first.mean()) / size,
        float(second.mean()) / size,
        interval,
        sign_flip(apart),
        tuple(float(apart[where == at].mean()) / size for at in np.unique(where)),
        size,
    )


def joined(rows: Sequence[CsvRow]) -> tuple[AttackOutcome, Bools]:
    """What an arm did in several rounds as one assault, and which images were answered correctly before."""
    fooled, correct = (np.concatenate([bools(row[name]) for row in rows]) for name in ("fooled", "correct"))
    passes, seconds = (sum(number(row, name) or 0 for row in rows) for name in ("passes", "seconds"))
    return AttackOutcome(rows[0]["call"], None, np.zeros(0, np.int64), fooled, {}, int(passes), seconds), correct


def _same_round(first: Iterable[CsvRow], second: Iterable[CsvRow]) -> dict[str, tuple[CsvRow, CsvRow]]:
    others = {row["round"]: row for row in second}
    return {row["round"]: (row, others[row["round"]]) for row in first if row["round"] in others}
