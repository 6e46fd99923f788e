"""Search and scores of one operator on trained models, on every set of inputs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mutiny.campaigns.campaign_run import run_here
from mutiny.campaigns.jobs import Job, WithScratch
from mutiny.campaigns.memo import code_of
from mutiny.campaigns.schedule import ask, is_known, together
from mutiny.core.errors import JobFailed, NotApplicable
from mutiny.core.json_values import hash_of
from mutiny.core.progress import Progress
from mutiny.core.records import KillBits, MutantRecord, OperatorRecord, SetSummary, Status, Verdict
from mutiny.faults.parsing import Fault
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import Judged
from mutiny.verbs.assess.muff.redundancy import TRIVIAL, redundant
from mutiny.verbs.assess.muff.score import interval_score, sensitivity, set_score, why_unstable
from mutiny.verbs.assess.muff.search import Trace, bisection, following, not_monotone

SETS = ("train", "test", "weak")


def operator_record(
    operator: Fault, label: str, bounds: tuple[float, float] | None, status: Status, reason: str = ""
) -> OperatorRecord:
    """Record of an operator without scores and mutants."""
    return OperatorRecord(
        code=operator.code,
        title=operator.title,
        label=label,
        parameters=operator.parameters(),
        strength=operator.strength,
        bounds=bounds,
        status=status,
        reason=reason,
    )


def with_scores(
    record: OperatorRecord,
    sets: Mapping[str, SetSummary],
    killed: Mapping[str, Collection[Hashable]],
    on_test: Mapping[Any, Judged],
    superfluous: Collection[Any],
) -> OperatorRecord:
    """Adds the scores of the test set and the sensitivity to the record of an operator.

    Args:
        record: Record without scores. If its status says that the test set is unstable, it gets no score.
        sets: Summaries by set of inputs.
        killed: Distinct killed mutants by set of inputs.
        on_test: Verdicts of the test set on the mutants that the training set kills.
        superfluous: Redundant mutants among them.
    """
    strong, weak = sets["test"], sets.get("weak")
    mutants = {key: judged.record for key, judged in on_test.items()}
    unstable = {key for key, mutant in mutants.items() if mutant.verdict is Verdict.UNSTABLE}
    classes = [mutant.killed_classes for mutant in mutants.values() if mutant.killed_classes is not None]
    telling = {key for key, mutant in mutants.items() if (mutant.triviality or 0) < TRIVIAL} - set(superfluous)
    if record.status is Status.UNSTABLE:
        record = replace(record, sensitivity_reason=record.reason)
    else:
        value, why = sensitivity(strong.score, weak.score if weak else None, bool(weak is None or killed["weak"]))
        record = replace(
            record,
            score=strong.score,
            score_form="set" if record.strength is None else "interval",
            set_score=strong.set_score,
            telling_score=set_score(killed["test"], telling, unstable),
            sensitivity=value,
            sensitivity_reason=why,
        )
    return replace(
        record,
        killed_classes=float(np.mean(classes)) if classes else None,
        sets=sets,
        redundant=tuple(key for key in superfluous if not isinstance(key, str)),
        redundant_configurations=tuple(key for key in superfluous if isinstance(key, str)),
    )


class OperatorRun:
    """Searches the weakest killed mutant once per set of inputs, then judges what train killed on the other sets.

    Args:
        judge: Judge of the operator's mutants; after `run` it holds every mutant with its bits.
        basis: Hash of everything but the operator that decides a verdict.
    """

    def __init__(self, judge: MutantJudge, basis: str = "") -> None:
        self.judge, self.runner = judge, judge.runner
        self.basis = hash_of([basis, code_of(judge.operator)])
        self.operator, self.search, self.label = judge.operator, judge.search, judge.label
        self.sets = tuple(name for name in SETS if name in self.runner.splits)
        self.traces: dict[str, Trace[float | None]] = {}
        self.reason_against = self._reason_against()
        self._asked: dict[str, list[Job]] = {split: [] for split in self.sets}
        self._forgotten: set[str] = set()

    def _reason_against(self) -> str | None:
        """Reason why the operator does not apply to these originals, or ``None``; a wrong parameter raises an error."""
        try:
            for original in range(len(self.runner.models)):
                self.runner.patch(self.operator, original, 0)
        except NotApplicable as error:
            return str(error)
        return None

    @property
    def steps(self) -> int:
        """Largest number of probes of the searches."""
        return self._probes * len(self.sets)

    @property
    def jobs(self) -> int:
        """Largest number of jobs: the searches, and verdicts of the other sets on what train's search killed."""
        return self.steps + self._probes * (len(self.sets) - 1)

    @property
    def _probes(self) -> int:
        return 1 if self.operator.strength is None else self.search.probes(self.operator.bounds)

    def run(self, progress: Progress) -> OperatorRecord:
        """The record of the operator, from jobs that run here one after the other."""
        record: OperatorRecord = run_here(self.plan(progress), self.judge.work)
        return record

    async def plan(self, progress: Progress) -> OperatorRecord:
        """Record of the operator; p-values are not yet adjusted for multiplicity."""
        if self.reason_against is not None:
            progress.step(self.label, self.steps)
            return self._record(Status.INVALID, self.reason_against)
        try:
            traces = await together(self._searched(split, progress) for split in self.sets)
            self.traces = dict(zip(self.sets, traces, strict=True))
            await together(self._all_judged(self._archive("train"), split) for split in self.sets[1:])
        except JobFailed as failure:
            self.traces = {}
            return self._record(Status.FAILED, str(failure))
        finally:
            for split in self.sets:  # verdicts stay until the result is made; up to 100 MB for each set must not
                self.judge.forget(split)
        return self._summarized()

    async def _searched(self, split: str, progress: Progress) -> Trace[float | None]:
        async def probe(strength: float | None) -> Verdict:
            verdict = (await self._judged(strength, split)).record.verdict
            progress.step(f"{self.label} on {split}")
            return verdict

        if self.operator.strength is None:
            return Trace(((None, await probe(None)),), "one configuration")
        trace = await following(bisection(self.search.bounds(self.operator.bounds), self.search), probe)
        progress.step(self.label, self.steps // len(self.sets) - len(trace.probes))
        return trace

    async def _all_judged(self, strengths: Iterable[float | None], split: str) -> None:
        for strength in strengths:
            await self._judged(strength, split)

    async def _judged(self, strength: float | None, split: str) -> Judged:
        """Verdict on a mutant, from one job that uses what is remembered of earlier ones on the same set."""
        same = self.judge.representative(strength)
        if not self.judge.known(same, split):
            job = Job(
                "probe",
                (self.label, same, split, self.judge.tried(split)),
                self.basis,
                name=f"{self.label}{'' if same is None else f' at {same:.4g}'} on {split}",
            )
            if split in self._forgotten and not await is_known(job):
                await self._recall(split)
            self._learn(await ask(replace(job, given=self.judge.pieces(split, same))), split)
            self._asked[split].append(job)
        return self.judge(strength, split)

    def _learn(self, answer: Judged | WithScratch, split: str) -> None:
        judged, piece = (answer.value, answer.scratch) if isinstance(answer, WithScratch) else (answer, None)
        self.judge.learn(judged, piece)
        if _lacks_scratch(answer):
            self._forgotten.add(split)

    async def _recall(self, split: str) -> None:
        """Repeats the probes on a set whose scratch the store has dropped."""
        self.judge.forget(split)
        for asked in self._asked[split]:
            job = replace(asked, given=self.judge.pieces(split, asked.arguments[1]))
            answer = await ask(job)
            if _lacks_scratch(answer):
                answer = await ask(replace(job, afresh=True))
            self._learn(answer, split)
        self._forgotten.discard(split)

    def _archive(self, split: str) -> tuple[float | None, ...]:
        return self.traces[split].archive

    def _killed(self, split: str) -> set[float | None]:
        """Distinct killed mutants."""
        seen = self.judge.seen(split)
        return {self.judge.representative(s) for s, judged in seen.items() if judged.record.verdict is Verdict.KILLED}

    def _killable(self) -> list[float | None]:
        """Distinct mutants that train's search killed, from easy to hard."""
        return list(dict.fromkeys(map(self.judge.representative, self._archive("train"))))

    def _weakest(self, split: str) -> float | None:
        """Smallest killed strength of the set's own search; if that killed none, of all mutants judged on it."""
        seen = self.judge.seen(split)
        killed = [strength for strength, judged in seen.items() if judged.record.verdict is Verdict.KILLED]
        return min((s for s in self._archive(split) or killed if s is not None), default=None)

    def _summarized(self) -> OperatorRecord:
        killed = {split: self._killed(split) for split in self.sets}
        sets = {split: self._set_summary(split, killed) for split in self.sets}
        if not self._archive("train"):
            return replace(self._record(Status.NOT_KILLABLE, self._why_not_killable()), sets=sets)
        on_test = {strength: self.judge(strength, "test") for strength in self._killable()}
        if sets["test"].score is None:
            record = self._record(Status.UNSTABLE, why_unstable(self._counting("test")))
        else:
            record = self._record(Status.SCORED)
        return with_scores(record, sets, killed, on_test, self._redundant())

    def _counting(self, split: str) -> list[MutantRecord]:
        """Distinct mutants judged on a set that count as killed by train: those it kills, and all that are severer."""
        killable, weakest = set(self._killable()), self._weakest("train")
        distinct = {s: self.judge(s, split).record for s in self.judge.tried(split)}
        severer = {s for s in distinct if s is not None and weakest is not None and s >= weakest}
        return [record for strength, record in distinct.items() if strength in killable | severer]

    def _set_summary(self, split: str, killed: dict[str, set[float | None]]) -> SetSummary:
        instances = [self.judge(s, split).record.instances for s, _ in self.traces[split].probes]
        weakest = self._weakest(split)
        unstable = {r.strength for r in self._counting(split) if r.verdict is Verdict.UNSTABLE}
        if self.operator.strength is None:
            score = set_score(killed[split], killed["train"], unstable)
        else:
            upper = self.search.bounds(self.operator.bounds)[1]
            score = interval_score(weakest, self._weakest("train"), upper, bool(unstable))
        return SetSummary(
            weakest_killed=weakest,
            archive=self._archive(split),
            **self.traces[split].counts(),
            mean_instances=float(np.mean(instances)),
            stopped=self.traces[split].stopped,
            score=score,
            set_score=set_score(killed[split], self._killable(), unstable),
        )

    def _redundant(self) -> tuple[float | None, ...]:
        seen = self.judge.seen("test")
        hard_first = reversed(self._killable())
        counts = {s: (seen[s].bits.per_input(), seen[s].record.instances) for s in hard_first}
        return redundant(counts)

    def _why_not_killable(self) -> str:
        probes, unstable = len(self.traces["train"].probes), self.traces["train"].counts()["unstable"]
        within = " within the budget" if self.traces["train"].stopped in ("probes", "time") else ""
        if unstable == probes:
            return f"every mutant is unstable on the training set{within} (a larger rse admits more)"
        if not unstable:
            return f"the training set kills no mutant{within}"
        return f"no stable mutant is killed by the training set{within} ({unstable} of {probes} are unstable)"

    def _notes(self) -> Iterable[str]:
        for split in self.sets:
            verdicts = {s: j.record.verdict for s, j in self.judge.seen(split).items() if s is not None}
            pair = not_monotone(verdicts)
            if pair is not None:
                yield f"not monotone on {split}: killed at {pair[0]:.4g} but survived at {pair[1]:.4g}"

    def _hidden(self) -> int:
        """Number of distinct survivors on train that a paired rank test over originals would kill."""
        rule, better = self.judge.rule, self.runner.task.higher_is_better
        if rule.test not in ("glm", "welch"):
            return 0
        ranks = replace(rule, test="wilcoxon")
        seen = [self.judge(strength, "train") for strength in self.judge.tried("train")]
        survivors = [judged for judged in seen if judged.record.verdict is Verdict.SURVIVED]
        return sum(ranks.judge(judged.sample, better).killed for judged in survivors)

    def _record(self, status: Status, reason: str = "") -> OperatorRecord:
        bounds = None if self.operator.strength is None else self.search.bounds(self.operator.bounds)
        return replace(
            operator_record(self.operator, self.label, bounds, status, reason),
            hidden=self._hidden(),
            notes=tuple(self._notes()) if self.traces else (),
            mutants=self._mutants(),
        )

    def _mutants(self) -> tuple[MutantRecord, ...]:
        if self.reason_against is not None:
            return (MutantRecord(self.label, None, "train", Verdict.INVALID, self.reason_against),)
        return tuple(
            replace(judged.record, searched=strength in {s for s, _ in self.traces[split].probes})
            for split in self.traces
            for strength, judged in self.judge.seen(split).items()
        )

    def scored(self) -> tuple[dict[str, dict[float | None, Judged]], float | None]:
        """Verdicts that decide the score, and the upper bound of the strength."""
        return self.searched(), None if self.operator.strength is None else self.search.bounds(self.operator.bounds)[1]

    def kills(self) -> dict[tuple[str, float | None, str], KillBits]:
        """Kill bits by label, strength and set."""
        return {
            (self.label, strength, split): judged.bits
            for split in self.sets
            for strength, judged in self.judge.seen(split).items()
        }

    def searched(self) -> dict[str, dict[float | None, Judged]]:
        """Mutants that each set's own search probed; they decide the score."""
        probed = {split: {s: self.judge(s, split) for s, _ in self.traces[split].probes} for split in self.sets}
        return {split: probed[split] if self._archive(split) else self.judge.seen(split) for split in self.sets}


def _lacks_scratch(answer: Judged | WithScratch) -> bool:
    """Whether a job left scratch that the store has dropped since."""
    return isinstance(answer, WithScratch) and answer.scratch is None
