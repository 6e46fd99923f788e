"""Judges one mutant on one set of inputs: adds instances until it is stable, then applies the kill rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.campaigns.jobs import Job, WithScratch
from mutiny.core.records import Basis, Bits, KillBits, MutantRecord, Verdict
from mutiny.core.stats import relative_standard_error
from mutiny.faults import Operator
from mutiny.faults.evaluation import Estimate, Outcome, Runner, ScreenedMutant, Screening
from mutiny.faults.evaluation.prediction import AnswerMemory, MemoryEntry, nearest_entries
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.early_verdict import corners, room, screenable, telling_share
from mutiny.verbs.assess.muff.kill_rule import Judged, KillRule, Sample
from mutiny.verbs.assess.muff.score import killed_classes
from mutiny.verbs.assess.muff.search import Search


def sample_of(originals: Sequence[Outcome], rounds: Sequence[Sequence[Outcome]]) -> Sample:
    """Sample for the kill rule from the outcomes of originals and instances.

    ``rounds`` holds one list of outcomes per repetition; instances of the last originals may be missing.
    """
    rights = [outcome.correct for outcome in originals]
    differences = np.zeros(originals[0].inputs, np.int16)
    mutants_right = np.zeros((len(rounds), len(rounds[0])), np.int64)
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


@dataclass(frozen=True)
class MutantEvaluation:
    """Evaluation of a mutant's instances.

    Attributes:
        answer: Unstable, killed or survived; ``None`` if metrics are not finite.
        sample: What the kill rule compares.
        right: Packed correctness of the instances, ``(repetitions, originals, bytes)``.
        basis: Evidence that the answer rests on.
        evaluated: Number of (instance, input) pairs evaluated.
        error: Largest error of the mean metric.
    """

    answer: Verdict | None
    sample: Sample
    right: Bits
    basis: Basis
    evaluated: int
    error: float


class MutantJudge:
    """Judges mutants of one operator, and keeps the verdicts.

    Args:
        runner: Originals and their data.
        operator: Operator; its strength is set for each mutant.
        label: Name of the operator in records.
        rule: Resolved kill rule.
        search: `k_max`, the RSE threshold and the fewest instances.
        screening: Confidence required to stop before all inputs are evaluated; ``None`` evaluates every input.
    """

    def __init__(
        self,
        runner: Runner,
        operator: Operator,
        label: str,
        rule: KillRule,
        search: Search,
        screening: Screening | None = None,
    ) -> None:
        self.runner, self.operator, self.label, self.rule, self.search = runner, operator, label, rule, search
        self.screening = screening
        self._checks: dict[str, int] = {}
        self._starts: dict[str, dict[int, npt.NDArray[np.int8]]] = {}
        self._pieces: dict[str, tuple[MemoryEntry, ...]] = {}
        self._known: dict[tuple[float | None, str], Judged] = {}
        self._first: dict[tuple[str, ...], float | None] = {}
        self._same: dict[float | None, float | None] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the arguments only; a copy on a worker starts without verdicts."""
        return MutantJudge, (self.runner, self.operator, self.label, self.rule, self.search, self.screening)

    def __call__(self, strength: float | None, split: str) -> Judged:
        """Verdict on the mutant at ``strength`` (``None`` if the operator has no strength)."""
        key = (strength, split)
        if key not in self._known:
            same = self.representative(strength)
            if same == strength:
                judged, piece = self.examine(strength, split, self.pieces(split, strength))
                self.learn(judged, piece)
            else:
                judged = self(same, split)
                self._known[key] = replace(judged, record=replace(judged.record, strength=strength, same_as=same))
        return self._known[key]

    def work(self, job: Job) -> Judged | WithScratch:
        """Judges the mutant of a job, on any worker; what later mutants need from it is returned as scratch."""
        _, strength, split, _ = job.arguments
        judged, piece = self.examine(strength, split, job.given)
        return judged if piece is None else WithScratch(judged, piece)

    def pieces(self, split: str, strength: float | None) -> tuple[MemoryEntry, ...]:
        """What is remembered of mutants judged on a split that helps to judge the one at ``strength``."""
        self._pieces[split] = nearest_entries(self._pieces.get(split, ()), strength)
        return self._pieces[split]

    def learn(self, judged: Judged, piece: MemoryEntry | None) -> None:
        """Stores a verdict of `examine`, computed here or on a worker."""
        split = judged.record.guiding_set
        self._known[judged.record.strength, split] = self._sharing(judged)
        if piece is not None:
            self._pieces[split] = (*self._pieces.get(split, ()), piece)

    def _sharing(self, judged: Judged) -> Judged:
        """The verdict with the originals' correctness as all verdicts share it; those of workers bring copies."""
        split, bits = judged.record.guiding_set, judged.bits
        shared = self.runner.clean_bits(split)[: len(bits.originals)]
        return (
            replace(judged, bits=replace(bits, originals=shared)) if np.array_equal(shared, bits.originals) else judged
        )

    def forget(self, split: str) -> None:
        """Drops what is remembered of mutants judged on a split, except their verdicts."""
        self._pieces.pop(split, None)

    def tried(self, split: str) -> list[float | None]:
        """Strengths that were examined on a split, in order."""
        return [strength for strength, judged in self.seen(split).items() if judged.record.same_as is None]

    def known(self, strength: float | None, split: str) -> bool:
        """Whether the mutant was judged on the split."""
        return (strength, split) in self._known

    def representative(self, strength: float | None) -> float | None:
        """First strength that makes the same mutant; different ratios may round to the same number of neurons."""
        if strength not in self._same:
            operator = self.operator.at(strength)
            patches = (self.runner.patch(operator, original, 0) for original in range(len(self.runner.models)))
            self._same[strength] = self._first.setdefault(tuple(patch.digest for patch in patches), strength)
        return self._same[strength]

    def seen(self, split: str) -> dict[float | None, Judged]:
        """All mutants judged on a split, in the order of judging."""
        return {strength: judged for (strength, where), judged in self._known.items() if where == split}

    def examine(
        self, strength: float | None, split: str, pieces: Sequence[MemoryEntry] = ()
    ) -> tuple[Judged, MemoryEntry | None]:
        """Evaluates a mutant. Only the arguments decide the verdict, and the judge does not store it.

        Args:
            strength: Strength of the mutant.
            split: Set of inputs.
            pieces: What is remembered of mutants judged on the same set before.

        Returns:
            The verdict, and what to remember of the mutant for later ones.
        """
        operator = self.operator.at(strength)
        single = all(operator.choices(view) == 1 for view in self.runner.views)  # repetitions would be copies
        if not self._screens(split):
            return self._judged(self._exact(operator, split, single), strength, split, single), None
        memory = AnswerMemory.of(pieces, self._starts.setdefault(split, {}))
        evaluation = self._screened(operator, split, single, memory)
        piece = None if strength is None else memory.piece(strength)
        return self._judged(evaluation, strength, split, single), piece

    def _screens(self, split: str) -> bool:
        """Whether evaluating all inputs of a split would cost more than finding out which ones a verdict needs."""
        if self.screening is None or not screenable(self.rule, self.runner.task):
            return False
        return self.runner.is_large(split, self.screening.fewest, self.screening.least_work)

    def _judged(self, evaluation: MutantEvaluation, strength: float | None, split: str, single: bool) -> Judged:
        sample, metrics = evaluation.sample, evaluation.sample.mutants.ravel()
        finite = bool(np.isfinite(metrics).all())
        rse = self._rse(metrics, single) if finite else float("inf")
        evidence = self.rule.judge(sample, self.runner.task.higher_is_better) if finite else None
        if not finite:
            verdict = Verdict.UNSTABLE
            reason = f"the {self.runner.task.metric} of some instances is not a finite number"
        elif evaluation.answer is Verdict.UNSTABLE:
            verdict = Verdict.UNSTABLE
            reason = f"RSE {rse:.3g} is above {self.search.rse:g} after {metrics.size} instances"
            reason += ", and repetitions would be copies" if single else ""
        else:
            verdict = Verdict.KILLED if evaluation.answer is Verdict.KILLED else Verdict.SURVIVED
            reason = evidence.note if evidence is not None else ""
        originals = evaluation.right.shape[1]
        bits = KillBits(self.runner.clean_bits(split)[:originals], evaluation.right, sample.inputs)
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
            basis=evaluation.basis,
            evaluated=evaluation.evaluated,
            metric_error=evaluation.error,
        )
        return Judged(record, sample, bits)

    def _rse(self, metrics: npt.NDArray[np.float64], single: bool) -> float:
        alone = single and len(self.runner.models) == 1
        return 0.0 if alone else relative_standard_error(metrics)

    def _answer(self, sample: Sample, single: bool) -> Verdict | None:
        """Answer from the metrics; ``None`` if they are not finite."""
        metrics = sample.mutants.ravel()
        if not np.isfinite(metrics).all():
            return None
        if not (single or metrics.size >= self.search.min_instances) or self._rse(metrics, single) > self.search.rse:
            return Verdict.UNSTABLE
        killed = self.rule.judge(sample, self.runner.task.higher_is_better).killed
        return Verdict.KILLED if killed else Verdict.SURVIVED

    def _exact(self, operator: Operator, split: str, single: bool) -> MutantEvaluation:
        """Evaluates one instance per original on every input, and repeats until the mutant is stable."""
        originals, clean = range(len(self.runner.models)), self.runner.clean_outcomes(split)
        rounds: list[list[Outcome]] = []
        outcomes: dict[tuple[int, str], Outcome] = {}  # repetitions may make the same patch

        def outcome(original: int) -> Outcome:
            patch = self.runner.patch(operator, original, len(rounds))
            key = (original, patch.digest)
            if key not in outcomes:
                outcomes[key] = self.runner.run(patch, original, split)
            return outcomes[key]

        answer: Verdict | None = Verdict.UNSTABLE
        while answer is Verdict.UNSTABLE and len(rounds) < (1 if single else self.search.k_max):
            rounds.append([outcome(original) for original in originals])
            sample = sample_of(clean, rounds)
            answer = self._answer(sample, single)
        right = np.array([[each.bits for each in round_] for round_ in rounds])
        return MutantEvaluation(answer, sample, right, Basis.EXACT, sample.mutants.size * sample.inputs, 0.0)

    def _screened(self, operator: Operator, split: str, single: bool, memory: AnswerMemory) -> MutantEvaluation:
        """Evaluates only as many inputs as the answer needs; repetitions are added as in `_exact`."""
        assert self.screening is not None
        clean, task = self.runner.clean_outcomes(split), self.runner.task
        if split not in self._checks:
            passes = [self.runner.clean(original, split) for original in range(len(self.runner.models))]
            self._checks[split] = self.screening.checks(telling_share(passes, self.rule, task))
        screen = self.runner.screened(operator, split, self.screening, self._checks[split], memory)

        def decide(estimate: Estimate) -> Verdict | None:
            """The answer if it is the same at all corners."""
            common: Verdict | None = None
            for sample in corners(estimate, clean, self.rule, task):
                answer = self._answer(sample, single)
                if answer is None or common not in (None, answer):
                    return None
                common = answer
            return common

        answer: Verdict | None = Verdict.UNSTABLE
        while answer is Verdict.UNSTABLE and screen.repetitions < (1 if single else self.search.k_max):
            screen.add_repetition()
            answer, estimate = self._until_clear(screen, decide)
        screen.remember()
        sample = next(corners(estimate, clean, self.rule, task))
        return MutantEvaluation(answer, sample, estimate.right, estimate.basis, estimate.evaluated, estimate.shift)

    @staticmethod
    def _until_clear(
        screen: ScreenedMutant, decide: Callable[[Estimate], Verdict | None]
    ) -> tuple[Verdict | None, Estimate]:
        while True:
            look = screen.look()
            for estimate in look.estimates:
                answer = decide(estimate)
                if answer is not None or estimate.basis is Basis.EXACT:
                    return answer, estimate
            screen.refine(room(decide, look.plain), room(decide, look.bold))

    def _killed_classes(self, bits: KillBits, split: str) -> float | None:
        labels, task = self.runner.labels(split), self.runner.task
        if labels is None or not isinstance(task, Classification):
            return None
        truth: npt.NDArray[np.int64] = labels.numpy()
        all_right = np.ones(bits.inputs, bool)  # kills already leave out inputs that the original gets wrong
        kills = bits.kills().reshape(-1, bits.inputs)
        killed = sum(killed_classes(all_right, ~row, truth, task.classes) for row in kills)
        return killed / (len(kills) * task.classes)
