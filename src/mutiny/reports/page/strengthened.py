"""What the page needs of a result of `strengthen`, in the form of its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mutiny.reports.page.facts import UNTIMED, Timing, check_score
from mutiny.reports.page.plain import expect, expect_least, expect_share
from mutiny.verbs.assess.result import Score
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.measuring import Gain
from mutiny.verbs.strengthen.result import Smaller


@dataclass(frozen=True)
class PoolFacts:
    """Inputs to choose from."""

    inputs: int
    labeled: bool = False

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.pool.inputs")


@dataclass(frozen=True)
class Facing:
    """The subject: ``test`` inputs that it has, and a pool, unless only a smaller test set was looked for."""

    name: str
    model: str
    originals: int
    test: int
    pool: PoolFacts | None = None

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.test, "subject.test")


@dataclass(frozen=True)
class Mutant:
    """An operator at a strength, if it has one."""

    operator: str
    strength: float | None = None


@dataclass(frozen=True)
class Made:
    """New inputs for mutants that the pool cannot kill."""

    count: int


@dataclass(frozen=True)
class Part:
    """A part of the test set that kills as much as the whole; ``held_out`` on mutants that it was not chosen for.

    ``kills_more`` are mutants that only the part kills.
    """

    indices: tuple[int, ...]
    of: int
    score: float | None
    score_of_all: float | None
    kills: tuple[Mutant, ...]
    kills_fresh: int
    held_out: Smaller | None = None
    kills_more: tuple[Mutant, ...] = ()

    def __post_init__(self) -> None:
        expect(0 < self.of < 2**31, "subset.of", "at least 1")
        expect_share(self.score, "subset.score")
        expect_share(self.score_of_all, "subset.score_of_all")
        expect(all(0 <= at < self.of for at in self.indices), "subset.indices", "indices of the test set")


@dataclass(frozen=True)
class Strengthened:
    """A result of `strengthen`; ``tried`` are the survivors for which inputs were chosen, unless the file is older."""

    subject: Facing
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    score: Score
    survivors: tuple[Mutant, ...]
    chosen: Mapping[str, tuple[int, ...]]
    predicted: Mapping[str, int]
    beyond: tuple[Mutant, ...]
    measured: tuple[Gain, ...]
    notes: tuple[str, ...]
    before: Repeated | None = None
    candidates: Made | None = None
    subset: Part | None = None
    names: tuple[str, ...] | None = None
    timing: Timing = UNTIMED
    tried: tuple[Mutant, ...] | None = None

    def __post_init__(self) -> None:
        expect(all(budget.isdigit() for budget in (*self.chosen, *self.predicted)), "chosen", "numbers of labels")
        check_score(self.score)
        for one in ([] if self.before is None else [self.before]) + [one.score for one in self.measured]:
            expect_share(one.mean, "a score in before or measured")
        expect(not self.measured or self.before is not None, "before", "a score, for there is one afterwards")

    @property
    def order(self) -> tuple[int, ...]:
        """What to label with the largest budget, best first."""
        return max(self.chosen.values(), key=len, default=())
