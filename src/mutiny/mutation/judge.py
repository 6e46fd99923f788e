"""One mutant on one set of inputs: instances until it is stable, then the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from mutiny.evaluation import Outcome, Runner
from mutiny.mutation.kill import KillRule, Sample
from mutiny.mutation.score import killed_classes
from mutiny.mutation.search import Search
from mutiny.operators import Operator
from mutiny.records import KillBits, MutantRecord, Verdict
from mutiny.stats import relative_standard_error
from mutiny.task import Classification


@dataclass(frozen=True)
class Judged:
    """A mutant's record with what it was judged from."""

    record: MutantRecord
    sample: Sample
    bits: KillBits


def sample_of(originals: Sequence[Outcome], rounds: Sequence[Sequence[Outcome]]) -> Sample:
    """Originals and instances as the kill rule takes them; ``rounds`` holds one list of outcomes per repetition."""
    rights = [outcome.correct for outcome in originals]
    differences = np.zeros(originals[0].inputs, np.int16)
    mutants_right = np.zeros((len(rounds), len(originals)), np.int64)
    for repetition, outcomes in enumerate(rounds):
        for original, outcome in enumerate(outcomes):
            correct = outcome.correct
            differences += rights[original].astype(np.int16) - correct
            mutants_right[repetition, original] = correct.sum()
    return Sample(
        originals=np.array([outcome.metric for outcome in originals]),
        mutants=np.array([[outcome.metric for outcome in outcomes] for outcomes in rounds]),
        right=np.array([right.sum() for right in rights]),
        mutants_right=mutants_right,
        differences=differences,
    )


class Judge:
    """Judges mutants of one operator, remembering what it has seen.

    Args:
        runner: the originals and their data.
        operator: whose mutants; its strength is set for each.
        label: the operator's name in records.
        rule: the resolved kill rule.
        search: `k_max`, the RSE threshold and the fewest instances.
    """

    def __init__(self, runner: Runner, operator: Operator, label: str, rule: KillRule, search: Search) -> None:
        self.runner, self.operator, self.label, self.rule, self.search = runner, operator, label, rule, search
        self._known: dict[tuple[float | None, str], Judged] = {}
        self._first: dict[tuple[str, ...], float | None] = {}
        self._same: dict[float | None, float | None] = {}

    def __call__(self, strength: float | None, split: str) -> Judged:
        """The verdict on the mutant at ``strength`` (``None``: the operator has none)."""
        key = (strength, split)
        if key not in self._known:
            same = self.representative(strength)
            if same == strength:
                self._known[key] = self._judge(strength, split)
            else:
                judged = self(same, split)
                self._known[key] = replace(judged, record=replace(judged.record, strength=strength, same_as=same))
        return self._known[key]

    def representative(self, strength: float | None) -> float | None:
        """The first strength seen that makes the very same mutant: ratios may round to the same number of neurons."""
        if strength not in self._same:
            operator = self.operator.at(strength)
            patches = (self.runner.patch(operator, original, 0) for original in range(len(self.runner.models)))
            self._same[strength] = self._first.setdefault(tuple(patch.digest for patch in patches), strength)
        return self._same[strength]

    def seen(self, split: str) -> dict[float | None, Judged]:
        """All mutants judged on a split, in the order of judging."""
        return {strength: judged for (strength, where), judged in self._known.items() if where == split}

    def _judge(self, strength: float | None, split: str) -> Judged:
        operator = self.operator.at(strength)
        originals = range(len(self.runner.models))
        single = all(operator.choices(view) == 1 for view in self.runner.views)  # repetitions would be copies
        most = 1 if single else self.search.k_max
        rounds: list[list[Outcome]] = []
        rse = float("inf")
        stable = finite = False
        while not stable and len(rounds) < most:
            rounds.append([self.runner.outcome(operator, original, len(rounds), split) for original in originals])
            metrics = np.array([outcome.metric for outcomes in rounds for outcome in outcomes])
            finite = bool(np.isfinite(metrics).all())
            if not finite:
                break
            rse = 0.0 if single and len(originals) == 1 else relative_standard_error(metrics)
            stable = (single or len(metrics) >= self.search.min_instances) and rse <= self.search.rse
        sample = sample_of(self.runner.clean_outcomes(split), rounds)
        bits = self._bits(rounds, split)
        evidence = self.rule.judge(sample, self.runner.task.higher_is_better) if finite else None
        if not finite:
            verdict = Verdict.UNSTABLE
            reason = f"the {self.runner.task.metric} of some instances is not a finite number"
        elif not stable:
            verdict = Verdict.UNSTABLE
            reason = f"RSE {rse:.3g} is above {self.search.rse:g} after {sample.mutants.size} instances"
            reason += ", and repetitions would be copies" if single else ""
        else:
            verdict = Verdict.KILLED if evidence is not None and evidence.killed else Verdict.SURVIVED
            reason = evidence.note if evidence is not None else ""
        record = MutantRecord(
            operator=self.label,
            strength=strength,
            guiding_set=split,
            verdict=verdict,
            reason=reason,
            instances=int(sample.mutants.size),
            rse=rse,
            p_value=evidence.p_value if evidence else None,
            effect_size=evidence.effect_size if evidence else None,
            metric_mean=float(sample.mutants.mean()),
            killed_classes=self._killed_classes(bits, split),
            metrics=tuple(map(tuple, sample.mutants.tolist())),
            triviality=float(bits.per_input().sum() / sample.mutants.size / sample.inputs),
        )
        return Judged(record, sample, bits)

    def _bits(self, rounds: Sequence[Sequence[Outcome]], split: str) -> KillBits:
        mutants = np.array([[outcome.bits for outcome in outcomes] for outcomes in rounds])
        return KillBits(self.runner.clean_bits(split), mutants, rounds[0][0].inputs)

    def _killed_classes(self, bits: KillBits, split: str) -> float | None:
        labels, task = self.runner.labels(split), self.runner.task
        if labels is None or not isinstance(task, Classification):
            return None
        truth: npt.NDArray[np.int64] = labels.numpy()
        everyone = np.ones(bits.inputs, bool)
        kills = bits.kills().reshape(-1, bits.inputs)
        killed = sum(killed_classes(everyone, ~row, truth, task.classes) for row in kills)
        return killed / (len(kills) * task.classes)
