"""The verb `assess`: finds faults of known cost, and asks the test set which of them it notices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.verb import Session, Verb, ask, code_of, together
from mutiny.core.errors import JobFailed, NotApplicable
from mutiny.faults import Operator
from mutiny.faults.weights.gaussian_fuzzing import GaussianFuzzing
from mutiny.subjects.data import Data
from mutiny.verbs.assess.distinct_tests import DistinctTests
from mutiny.verbs.assess.fault_search import TEST, FaultSearch, FoundFault, FoundFaults, distinct, scaled
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.gate_calibration import GateTrials, calibrations, gate_trials
from mutiny.verbs.assess.judges.paired_test import PairedTest
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.judges.summary import judge_records
from mutiny.verbs.assess.notes import notes
from mutiny.verbs.assess.notice import Notice, ReferenceRecord
from mutiny.verbs.assess.preflight import preflight
from mutiny.verbs.assess.prepared_search import prepared_search
from mutiny.verbs.assess.result import Assessment, ChangedAnswers
from mutiny.verbs.assess.subject_record import reference_record, subject_record
from mutiny.verbs.assess.summary import notice_of

FEWEST_CHOICES = 10
"""Fewest random choices of an operator over all originals, unless the user says otherwise."""
MOST_CHOICES = 100_000
"""Largest number of random choices per operator and original."""
HARMLESS = GaussianFuzzing(ratio=1.0, sd=2.0**-9, clip="none")
"""A harmless change: noise on every weight, as large as the rounding errors of bfloat16."""
HARMLESS_CHANGES = 20
FALSE_ALARMS = 0.01
"""Largest rate of false alarms that the advised bound of a gate may have, unless the user says otherwise."""
TRIALS = "trials of gates"
"""Stands for the label of an operator, beside what gates say about networks in which nothing is wrong."""


@dataclass(frozen=True)
class Refusal:
    """Reason why an operator does not apply to an original."""

    reason: str


@dataclass(frozen=True)
class Assess(Verb[FaultSearch, Assessment]):
    """Arguments of `assess`, checked.

    Attributes:
        operators: Operators by label.
        judges: Judges, the one that decides the headline first; one of them is a paired test.
        seeds: Random choices per operator and original.
        originals: Number of originals.
        exact: Evaluate every fault on every input.
        validation: The subject's validation set, if it has one.
        pool: The subject's pool, if it has one.
        false_alarms: Largest rate of false alarms that the advised bounds of gates may have.
    """

    operators: Mapping[str, Operator]
    judges: tuple[Judge, ...]
    seeds: int
    originals: int | None
    exact: bool = False
    validation: Data | None = None
    pool: Data | None = None
    false_alarms: float = FALSE_ALARMS

    name = "assess"

    def settings(self) -> dict[str, Any]:
        """Method and judges; the number of random choices is no part, because it does not change a job."""
        several = {"judges": [judge.label for judge in self.judges]} if self.others else {}
        return {"method": "notice", "alpha": self.paired.alpha, "exact": self.exact, **several}

    def decisive(self) -> Mapping[str, Any]:
        """The sets that may measure costs, which are not part of the subject's identity, and what judges do."""
        sets = {"validation": self.validation, "pool": self.pool}
        prints = {name: None if data is None else data.fingerprint() for name, data in sets.items()}
        return {**prints, **{f"judge {judge.label}": judge for judge in self.others}}

    def identity(self) -> Mapping[str, Any]:
        """The operators, and how many random choices of each."""
        alarms = {"false alarms": self.false_alarms} if self.gates else {}
        return {"operators": [code_of(each) for each in self.operators.values()], "seeds": self.seeds, **alarms}

    @property
    def paired(self) -> PairedTest:
        """The paired test that says what is noticed; its p-values are part of every fault."""
        return next(judge for judge in self.judges if isinstance(judge, PairedTest))

    @property
    def others(self) -> tuple[Judge, ...]:
        """The other judges, which need all answers to the test set."""
        return tuple(judge for judge in self.judges if judge is not self.paired)

    @property
    def gates(self) -> tuple[Gate, ...]:
        """The gates, which are calibrated."""
        return tuple(judge for judge in self.judges if isinstance(judge, Gate))

    def is_final(self, result: Assessment) -> bool:
        """Whether no job failed; failed jobs are tried again when the same call is made again."""
        return result.complete

    def prepare(self, session: Session) -> FaultSearch:
        """Chooses the reference set, and runs the clean passes."""
        return prepared_search(session, self.paired.alpha, session.pace, exact=self.exact, judges=self.others)

    async def plan(self, session: Session, state: FaultSearch) -> list[Any]:
        """Checks each original, then asks for the faults of every operator, original and random choice.

        Harmless changes, too, are jobs.
        """
        count = len(state.runner.models)
        jobs = [
            (label, original, seed)
            for label in self.operators
            for original in range(count)
            for seed in range(self.seeds)
        ]
        jobs += [("", number % count, number // count) for number in range(max(count, HARMLESS_CHANGES))]
        session.expect(len(jobs) + 3 * count + bool(self.gates))
        session.progress.stage("pre-flight", count)

        async def checked(original: int) -> None:
            name = f"original {original + 1}"
            await ask(session.job("preflight", original, name))
            session.progress.step(name)

        await together(checked(original) for original in range(count))
        session.progress.stage("finding faults", len(jobs))

        async def found(label: str, original: int, seed: int) -> Any:
            name = f"{label or 'harmless change'} on original {original + 1}"
            try:
                answer = await ask(session.job("faults", (label, original, seed), name))
            except JobFailed as failure:
                answer = failure
            session.progress.step(name)
            return label, answer

        answers = await together(found(*job) for job in jobs)
        if self.gates:
            trials = await ask(session.job("gate trials", [gate.label for gate in self.gates], "false alarms of gates"))
            answers.append((TRIALS, trials))
        return answers

    def work(self, state: FaultSearch, job: Job) -> FoundFaults | Refusal | dict[str, GateTrials] | None:
        """Checks an original, or finds and judges the faults of one operator on it with one random choice."""
        if job.kind == "preflight":
            preflight(state, job.arguments)
            return None
        if job.kind == "gate trials":
            return gate_trials(state.runner, self.gates, HARMLESS)
        label, original, seed = job.arguments
        if not label:
            return state.judged(HARMLESS, original, seed)
        try:
            return state.find(self.operators[label], label, original, seed)
        except NotApplicable as reason:
            return Refusal(str(reason))

    def result(self, session: Session, state: FaultSearch, found: Sequence[tuple[str, Any]]) -> Assessment:
        """The notice rate, its intervals, and notes."""
        unscaled: dict[str, list[FoundFault]] = {label: [] for label in self.operators}
        reasons, failed = dict[str, str](), dict[str, str]()
        harmless, searches = list[FoundFault](), list[FoundFaults]()
        trials: Mapping[str, GateTrials] = {}
        for label, answer in found:
            if label == TRIALS:
                trials = answer
            elif isinstance(answer, JobFailed):
                failed.setdefault(label, str(answer))
            elif isinstance(answer, Refusal):
                reasons.setdefault(label, answer.reason)
            else:
                (unscaled[label] if label else harmless).extend(answer.faults)
                searches.append(answer)
        faults, ratio = scaled({label: distinct(group) for label, group in unscaled.items()}, state.unit)
        reference = reference_record(state, ratio)
        notice = self._notice(state, faults, reasons, failed, harmless, reference, session.seed)
        everything = [fault for group in faults.values() for fault in group]
        # without a reference set, costs are measured on the test set, for the planner only
        unmeasured: dict[str, Any] = {"cost": math.nan, "hits": None} if reference.kind == "none" else {}
        subject = session.given.subject
        assert subject is not None
        assert state.distinct is not None
        record = subject_record(subject, state)
        return Assessment(
            subject=record,
            settings={**session.settings, "seeds": self.seeds, "operators": [*self.operators]},
            notice=notice,
            faults=tuple(replace(fault.record, patch=fault.digest, **unmeasured) for fault in everything),
            evaluation={
                "evaluated": sum(search.evaluated for search in searches),
                "everything": sum(search.everything for search in searches),
            },
            notes=tuple(notes(record, notice, state)),
            changed=_changed(everything, state.distinct),
            judges=self._judged(state, faults, harmless, notice, trials) if self.others else (),
            **session.stamp(),
        )

    def _judged(
        self,
        state: FaultSearch,
        faults: Mapping[str, Sequence[FoundFault]],
        harmless: Sequence[FoundFault],
        notice: Notice,
        trials: Mapping[str, GateTrials],
    ) -> tuple[JudgeRecord, ...]:
        """What each judge notices, with the calibration of gates."""
        everything = [fault for group in faults.values() for fault in group]
        calibrated = calibrations(self.gates, everything, trials, state, self.false_alarms)
        records = judge_records(self.judges, faults, harmless, notice, state.unit)
        return tuple(replace(record, calibration=calibrated.get(record.judge)) for record in records)

    def _notice(
        self,
        state: FaultSearch,
        faults: Mapping[str, Sequence[FoundFault]],
        reasons: Mapping[str, str],
        failed: Mapping[str, str],
        harmless: Sequence[FoundFault],
        reference: ReferenceRecord,
        seed: int,
    ) -> Notice:
        return notice_of(
            faults,
            reasons,
            failed,
            harmless,
            self.operators,
            reference,
            state.unit,
            state.alpha,
            len(state.runner.splits[TEST]),
            seed,
        )


def default_seeds(originals: int) -> int:
    """Random choices per operator and original, so that there are ten over all originals.

    >>> default_seeds(1), default_seeds(4), default_seeds(20)
    (10, 3, 1)
    """
    return max(1, -(-FEWEST_CHOICES // originals))


def _changed(faults: Sequence[FoundFault], tests: DistinctTests) -> ChangedAnswers:
    """Changed answers, with positions in the whole test set."""
    positions = np.concatenate([np.zeros(0, np.int32), *(fault.positions for fault in faults)])
    sizes = [len(fault.positions) for fault in faults]
    return ChangedAnswers(
        np.repeat(np.arange(len(faults), dtype=np.int32), sizes),
        tests.positions[positions].astype(np.int32),
        np.concatenate([np.zeros(0, np.float32), *(fault.change for fault in faults)]),
        np.concatenate([np.zeros(0, np.float32), *(fault.weight for fault in faults)]),
        tests.size,
    )
