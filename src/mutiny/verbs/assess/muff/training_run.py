"""Search and scores of one operator before training, on every set of inputs, as in DeepCrime."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mutiny.campaigns.campaign_run import run_here
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.schedule import together
from mutiny.core.errors import JobFailed, NotApplicable
from mutiny.core.parsing import described
from mutiny.core.progress import Progress
from mutiny.core.records import KillBits, MutantRecord, OperatorRecord, SetSummary, Status, Verdict
from mutiny.faults.training.base import Span, TrainingOperator
from mutiny.verbs.assess.muff.kill_rule import Judged
from mutiny.verbs.assess.muff.operator_run import SETS, operator_record, with_scores
from mutiny.verbs.assess.muff.redundancy import redundant
from mutiny.verbs.assess.muff.score import interval_score, set_score, why_unstable
from mutiny.verbs.assess.muff.search import Trace, descent, following, not_monotone, steps, within
from mutiny.verbs.assess.muff.trained_judge import DIVERGED, Key, TrainedJudge

IF_DIVERGED = {False: "their answers count as wrong", True: "there is no verdict"}
"""Consequence of diverged trainings, by whether the verdict is unstable. It is for a loss, which has no worst value."""
POWER = 0.8
"""Power below which DeepCrime calls a mutant unstable."""


class TrainingRun:
    """Trains the configurations of an operator and judges them on every set.

    A binary search starts with the severest value, separately on each set; searches share trained networks. Operators
    without a strength try every configuration.

    Args:
        judge: Judge of the operator's configurations.
        operator: Operator before training.
    """

    def __init__(self, judge: TrainedJudge, operator: TrainingOperator) -> None:
        self.judge, self.operator, self.runner = judge, operator, judge.runner
        self.label, self.search = judge.label, judge.search
        self.sets = tuple(name for name in SETS if name in self.runner.splits)
        self.traces: dict[str, Trace[Key]] = {}
        self.failed: dict[Key, str] = {}
        self.span: Span | None = None
        self.reason_against: str | None = None
        self.configurations: dict[Key, TrainingOperator] = {}
        if not judge.trains:
            self.reason_against = "the originals were given, and there is no recipe to train others"
            return
        program = judge.trainer.program
        try:
            configurations = operator.configurations(program)
            if operator.strength is None:
                self.configurations = {described(changed, changed.code): changed for changed in configurations}
            else:
                self.span = within(operator.span(program), self.search)
        except NotApplicable as reason:
            self.reason_against = str(reason)

    @property
    def steps(self) -> int:
        """Largest number of verdicts of the searches on all sets."""
        return self._per_search * len(self.sets)

    @property
    def jobs(self) -> int:
        """Largest number of trainings: all searches share networks, at least those of the severest value."""
        shared = 0 if self.span is None else len(self.sets) - 1
        different = self._per_search if self.span is None else self.steps - shared
        return different * len(self.runner.models)

    @property
    def _per_search(self) -> int:
        """Largest number of configurations of one search."""
        if self.reason_against is not None:
            return 0
        return len(self.configurations) if self.span is None else steps(self.span, self.search)

    def run(self, progress: Progress) -> OperatorRecord:
        """Record of the operator, from jobs that run here one after the other."""
        record: OperatorRecord = run_here(self.plan(progress), self._work)
        return record

    async def plan(self, progress: Progress) -> OperatorRecord:
        """Record of the operator; p-values are not yet adjusted for multiplicity."""
        if self.reason_against is None:
            try:
                traces = await together(self._searched(split, progress) for split in self.sets)
                self.traces = dict(zip(self.sets, traces, strict=True))
                await together(self._verdict(key, split) for key in self._keys() for split in self.sets)
            except JobFailed as failure:
                return self._record(Status.FAILED, str(failure))
        if self.reason_against is not None or not self._keys():
            return self._record(Status.INVALID, self.reason_against or "; ".join(dict.fromkeys(self.failed.values())))
        return self._summarized()

    def searched(self, split: str, progress: Progress) -> Trace[Key]:
        """Search on one set of inputs, from jobs that run here one after the other."""
        trace: Trace[Key] = run_here(self._searched(split, progress), self._work)
        return trace

    def _work(self, job: Job) -> Any:
        return self.judge.trainer.work(job)

    async def _searched(self, split: str, progress: Progress) -> Trace[Key]:
        async def probe(key: Key) -> Verdict:
            verdict = await self._verdict(key, split)
            progress.step(f"{self.label} on {split}")
            return verdict

        if self.span is not None:
            trace = await following(descent(self.span, self.search), probe)
            progress.step(self.label, self._per_search - len(trace.probes))
            return trace
        verdicts = await together(probe(key) for key in self.configurations)
        return Trace(tuple(zip(self.configurations, verdicts, strict=True)), "all configurations")

    async def _verdict(self, key: Key, split: str) -> Verdict:
        if key in self.failed:
            return Verdict.INVALID
        operator = self.operator.at(key) if isinstance(key, (int, float)) else self.configurations[key]
        try:
            return (await self.judge.configuration(key, operator, split)).record.verdict
        except NotApplicable as reason:
            self.failed[key] = str(reason)
            return Verdict.INVALID

    def _keys(self) -> list[Key]:
        """Distinct configurations that were trained."""
        tried = [key for trace in self.traces.values() for key, _ in trace.probes]
        return [key for key in dict.fromkeys(tried) if key not in self.failed]

    def _judged(self, split: str) -> dict[Key, Judged]:
        """Configurations judged on a split, in an order that does not depend on which training ended first."""
        seen = self.judge.configurations(split)
        return {key: seen[key] for key in self._keys() if key in seen}

    def _killed(self, split: str) -> set[Key]:
        seen = self._judged(split)
        return {key for key, judged in seen.items() if judged.record.verdict is Verdict.KILLED}

    def severity(self, key: Key | None) -> float | None:
        """Position of a value between the mildest (0) and the severest (1)."""
        if self.span is None or not isinstance(key, (int, float)):
            return None
        return (key - self.span.mild) / (self.span.severe - self.span.mild)

    def _weakest(self, split: str) -> Key | None:
        """Mildest value that the set's own search killed."""
        return min(self.traces[split].archive, key=lambda key: self.severity(key) or 0.0, default=None)

    def _summarized(self) -> OperatorRecord:
        killed = {split: self._killed(split) for split in self.sets}
        sets = {split: self._set_summary(split, killed) for split in self.sets}
        if not self.traces["train"].archive:
            return replace(self._record(Status.NOT_KILLABLE, self._why_not_killable()), sets=sets)
        on_test = {key: judged for key, judged in self._judged("test").items() if key in killed["train"]}
        superfluous = redundant({key: (j.bits.per_input(), j.record.instances) for key, j in on_test.items()})
        if sets["test"].score is None:
            record = self._record(Status.UNSTABLE, why_unstable([*self._counting("test").values()]))
        else:
            record = self._record(Status.SCORED)
        return with_scores(record, sets, killed, on_test, superfluous)

    def _counting(self, split: str) -> dict[Key, MutantRecord]:
        """Configurations judged on a set that count as killed by train: those it kills, and all that are severer."""
        killed, weakest = self._killed("train"), self.severity(self._weakest("train"))
        return {
            key: judged.record
            for key, judged in self._judged(split).items()
            if key in killed or (weakest is not None and (self.severity(key) or 0.0) >= weakest)
        }

    def _why_not_killable(self) -> str:
        if self.span is None:
            return "the training set kills no configuration"
        return f"the training set does not notice even {self.operator.strength} {self.span.severe:g}, the severest"

    def _set_summary(self, split: str, killed: dict[str, set[Key]]) -> SetSummary:
        seen = self._judged(split)
        tried = [seen[key].record for key, _ in self.traces[split].probes if key in seen]
        weak = [record.power < POWER for record in tried if record.power is not None]
        weakest = self._weakest(split) if self.span is not None else None
        unstable = {key for key, record in self._counting(split).items() if record.verdict is Verdict.UNSTABLE}
        by_set = set_score(killed[split], killed["train"], unstable)
        score = by_set
        if self.span is not None:
            train = self.severity(self._weakest("train"))
            score = interval_score(self.severity(weakest), train, 1.0, bool(unstable))
        return SetSummary(
            weakest_killed=weakest if isinstance(weakest, (int, float)) else None,
            archive=tuple(key for key in self.traces[split].archive if isinstance(key, (int, float))),
            **self.traces[split].counts(),
            mean_instances=float(np.mean([record.instances for record in tried])) if tried else None,
            stopped=self.traces[split].stopped,
            score=score,
            set_score=by_set,
            killability=self._killability(split, weakest),
            instability=float(np.mean(weak)) if weak else None,
        )

    def _killability(self, split: str, weakest: Key | None) -> float:
        if self.span is None:
            return len(self._killed(split)) / len(self.configurations)
        severity = self.severity(weakest)
        return 0.0 if severity is None else 1.0 - severity

    def _record(self, status: Status, reason: str = "") -> OperatorRecord:
        bounds = None if self.span is None else (self.span.mild, self.span.severe)
        record = operator_record(self.operator, self.label, bounds, status, reason)
        return replace(record, notes=tuple(self._notes()), mutants=tuple(self._mutants()))

    def _notes(self) -> Iterator[str]:
        if self.reason_against is not None:
            return
        diverged = {
            key: f"{judged.record.reason}; {IF_DIVERGED[judged.record.verdict is Verdict.UNSTABLE]}"
            for key, judged in self._judged("train").items()
            if judged.record.reason.endswith(DIVERGED)
        }
        for key, reason in {**self.failed, **diverged}.items():
            if reason != self._only_reason():
                yield f"{key if isinstance(key, str) else f'{self.label} at {key:g}'}: {reason}"
        yield from self._not_monotone()

    def _not_monotone(self) -> Iterator[str]:
        """Notes on sets where a severer value survives although a milder one is killed."""
        for split in self.traces if self.span is not None else ():
            seen = self._judged(split)
            places = {place: key for key in seen if (place := self.severity(key)) is not None}
            pair = not_monotone({place: seen[key].record.verdict for place, key in places.items()})
            if pair is not None:
                killed, survived = (places[place] for place in pair)
                yield f"not monotone on {split}: killed at {killed:.4g} but survived at {survived:.4g}, the severer one"

    def _only_reason(self) -> str | None:
        """The one reason why nothing could be trained, which the record already states."""
        reasons = set(self.failed.values())
        return reasons.pop() if len(reasons) == 1 and not self._keys() else None

    def _mutants(self) -> Iterator[MutantRecord]:
        if self.reason_against is not None:
            yield MutantRecord(self.label, None, "train", Verdict.INVALID, self.reason_against)
            return
        for split in self.sets:
            probed = {key for key, _ in self.traces[split].probes} if split in self.traces else set()
            for key, judged in self._judged(split).items():
                yield replace(judged.record, searched=key in probed)

    def scored(self) -> tuple[dict[str, dict[Key, Judged]], float | None]:
        """Verdicts that decide the score, by severity if there is a strength, and the upper bound."""
        seen = {split: self._judged(split) for split in self.sets}
        if self.span is None:
            return seen, None
        probed = {split: {key for key, _ in self.traces[split].probes} for split in self.sets}
        return {
            split: {self.severity(key) or 0.0: judged for key, judged in mutants.items() if key in probed[split]}
            for split, mutants in seen.items()
        }, 1.0

    def kills(self) -> dict[tuple[str, float | None, str], KillBits]:
        """Kill bits by label, strength and set."""
        return {
            (judged.record.operator, judged.record.strength, split): judged.bits
            for split in self.traces
            for judged in self._judged(split).values()
        }
