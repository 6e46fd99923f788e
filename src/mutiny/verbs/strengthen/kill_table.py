"""Kill table: answers of originals and mutants to every input, and the verdicts of any part of the inputs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from mutiny.core.records import Basis, OperatorRecord, Status, Verdict
from mutiny.core.stats import relative_standard_error
from mutiny.verbs.assess.kill_rule import KillRule, Sample
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.score import interval_score, set_score
from mutiny.verbs.assess.search import Search
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints

Key = tuple[str, float | None]
"""A mutant: the operator's label, and its strength."""


@dataclass(frozen=True, eq=False)
class MutantRow:
    """One mutant on every input.

    Attributes:
        label: Label of the operator.
        strength: Strength; ``None`` if the operator has none.
        right: Which answers of the instances are correct, ``(repetitions, originals, n)``; the last originals may be
            missing.
        losses: Losses of the instances in the same shape; ``None`` for classification.
        fresh: Whether the seed differs from that of the assessment's mutants.
    """

    label: str
    strength: float | None
    right: Bools
    losses: Floats | None = None
    fresh: bool = False

    @property
    def key(self) -> Key:
        """Label and strength."""
        return self.label, self.strength


@dataclass(frozen=True, eq=False)
class KillTable:
    """Originals and mutants on every input of a set, and the rule by which an assessment judges.

    Attributes:
        right: Which answers of the originals are correct, ``(originals, n)``.
        losses: Losses of the originals; ``None`` for classification.
        rows: Mutants.
        rule: Resolved kill rule.
        search: Limits below which a mutant is stable.
        higher_is_better: Whether a higher metric is better.
    """

    right: Bools
    losses: Floats | None
    rows: tuple[MutantRow, ...]
    rule: KillRule
    search: Search
    higher_is_better: bool

    @classmethod
    def of(cls, result: Assessment) -> Self:
        """Table from the stored answers of a classifier's assessment, whose verdicts on the test set must be exact."""
        rule, search = rules_of(result)
        judged = [m for r in result.operators for m in r.mutants if m.guiding_set == "test" and m.same_as is None]
        wanted = [(m.operator, m.strength) for m in judged if (m.operator, m.strength, "test") in result.kills]
        bits = [result.kills[(*key, "test")] for key in wanted]
        if not bits:
            return cls(np.zeros((1, 0), bool), None, (), rule, search, True)
        rows = tuple(
            MutantRow(*key, _unpacked(kills.mutants, kills.inputs)) for key, kills in zip(wanted, bits, strict=True)
        )
        most = max(bits, key=lambda kills: len(kills.originals))
        return cls(_unpacked(most.originals, most.inputs), None, rows, rule, search, True)

    def __len__(self) -> int:
        return int(self.right.shape[1])

    def of_rows(self, rows: Sequence[MutantRow]) -> KillTable:
        """Table of the same originals with other mutants."""
        return replace(self, rows=tuple(rows))

    def sample(self, row: MutantRow, chosen: Ints, rounds: int) -> Sample:
        """Sample for the rule: the inputs at ``chosen``, and the first ``rounds`` repetitions."""
        right, mutant = self.right[:, chosen], row.right[:rounds][..., chosen]
        counts, mutants = right.sum(axis=1), mutant.sum(axis=2)
        if self.losses is None or row.losses is None:
            metrics = counts / len(chosen), mutants / len(chosen)
        else:
            metrics = self.losses[:, chosen].mean(axis=1), row.losses[:rounds][..., chosen].mean(axis=2)
        originals = mutant.shape[1]
        fell = rounds * right[:originals].sum(axis=0, dtype=np.int16) - mutant.sum(axis=(0, 1), dtype=np.int16)
        return Sample(*metrics, counts, mutants, fell)

    def verdict(self, row: MutantRow, chosen: Ints) -> Verdict:
        """Verdict of some inputs on a mutant, with as few repetitions as are stable, as in `assess`."""
        rounds, originals = row.right.shape[:2]
        single = rounds * originals < self.search.min_instances  # so few only if repetitions would be copies
        if not len(chosen):
            return Verdict.SURVIVED
        for number in range(1, rounds + 1):
            sample = self.sample(row, chosen, number)
            metrics = sample.mutants.ravel()
            if not np.isfinite(metrics).all():
                return Verdict.UNSTABLE
            if not single and metrics.size < self.search.min_instances:
                continue
            if metrics.size > 1 and relative_standard_error(metrics) > self.search.rse:
                continue
            killed = self.rule.judge(sample, self.higher_is_better).killed
            return Verdict.KILLED if killed else Verdict.SURVIVED
        return Verdict.UNSTABLE

    def killed(self, chosen: Ints | None = None) -> set[Key]:
        """Mutants of the assessment that the inputs at ``chosen`` kill; all inputs by default."""
        return {row.key for row in self.dead(chosen) if not row.fresh}

    def dead(self, chosen: Ints | None = None) -> list[MutantRow]:
        """All mutants that the inputs at ``chosen`` kill; all inputs by default."""
        inputs = np.arange(len(self)) if chosen is None else chosen
        return [row for row in self.rows if self.verdict(row, inputs) is Verdict.KILLED]


def rules_of(result: Assessment) -> tuple[KillRule, Search]:
    """Kill rule and search of an assessment."""
    return KillRule(**result.settings["rule"]), Search(**result.settings["search"])


def is_exact(result: Assessment) -> bool:
    """Whether every verdict on the test set rests on all of its inputs."""
    return all(m.basis is Basis.EXACT for r in result.operators for m in r.mutants if m.guiding_set == "test")


def scores(records: Iterable[OperatorRecord], killed: Collection[Key]) -> dict[str, float]:
    """Score of each scored operator, in its own form, if the test set killed exactly these mutants.

    Args:
        records: Operators of the assessment.
        killed: Mutants; a mutant that is the same at several strengths need be named only once.
    """
    return {record.label: _score(record, killed) for record in records if record.status is Status.SCORED}


def _score(record: OperatorRecord, killed: Collection[Key]) -> float:
    on_set = [m for m in record.mutants if m.guiding_set == "test"]
    dead = [m for m in on_set if (record.label, m.strength if m.same_as is None else m.same_as) in killed]
    if record.bounds is None:
        train = {m.strength for m in record.mutants if m.guiding_set == "train" and m.verdict is Verdict.KILLED}
        return set_score({m.strength for m in dead}, train) or 0.0
    searched = [m.strength for m in dead if m.searched and m.strength is not None]
    weakest = min(searched or [m.strength for m in dead if m.strength is not None], default=None)
    return interval_score(weakest, record.sets["train"].weakest_killed, record.bounds[1]) or 0.0


def mean_score(by_operator: Mapping[str, float]) -> float | None:
    """Mean over operators; ``None`` if none has a score."""
    return float(np.mean([*by_operator.values()])) if by_operator else None


def _unpacked(bits: npt.NDArray[np.uint8], inputs: int) -> Bools:
    return np.unpackbits(bits, axis=-1, count=inputs).astype(bool)
