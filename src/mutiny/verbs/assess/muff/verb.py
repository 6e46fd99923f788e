"""The verb `assess` by MUFF's procedure: finds the weakest mutant of each operator that the tests kill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mutiny.campaigns.schedule import queued
from mutiny.campaigns.verb import Job, Session, Verb, code_of
from mutiny.core.records import MutantRecord, OperatorRecord, Status
from mutiny.core.stats import holm
from mutiny.faults.parsing import Fault
from mutiny.subjects.data import Data
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import MuffOptions
from mutiny.verbs.assess.muff.result import MuffAssessment, Score, classes_of, describe_subject, notes, spent
from mutiny.verbs.assess.muff.score import score_interval
from mutiny.verbs.assess.muff.state import MuffState, Run


@dataclass(frozen=True)
class AssessMuff(Verb[MuffState, MuffAssessment]):
    """Arguments of `assess`, checked.

    Attributes:
        operators: Operators by label.
        options: Kill rule, search, weak set, screening and savings.
        originals: Number of originals.
        weak: The subject's own weak set, if it has one.
        recipe: The subject's recipe, if it has one.
    """

    operators: Mapping[str, Fault]
    options: MuffOptions
    originals: int | None
    weak: Data | None = None
    recipe: Recipe | None = None

    name = "assess"

    def settings(self) -> dict[str, Any]:
        """The options."""
        return self.options.plain(weak_given=self.weak is not None)

    def decisive(self) -> Mapping[str, Any]:
        """The weak set and the recipe, which are not part of the subject's identity."""
        return {"weak": None if self.weak is None else self.weak.fingerprint(), "recipe": self.recipe}

    def identity(self) -> Mapping[str, Any]:
        """The operators."""
        return {"operators": [code_of(operator) for operator in self.operators.values()]}

    def is_final(self, result: MuffAssessment) -> bool:
        """Whether no job failed; failed jobs are tried again when the same call is made again."""
        return result.complete

    def prepare(self, session: Session) -> MuffState:
        """Runs clean passes and the pre-flight, and chooses the weak set."""
        return MuffState.of(session, self.operators, self.options)

    async def plan(self, session: Session, state: MuffState) -> list[tuple[Run, OperatorRecord]]:
        """Runs the searches of all operators; each is returned with its record."""
        runs = state.runs(self.operators, self.options, session.basis)
        clean_passes = len(state.runner.models) * (2 if self.weak is None else 3)
        session.progress.stage("searching mutants", sum(run.steps for run in runs))
        session.expect(clean_passes + sum(run.jobs for run in runs))
        records = await queued(run.plan(session.progress) for run in runs)
        return [*zip(runs, records, strict=True)]

    def work(self, state: MuffState, job: Job) -> Any:
        """Evaluates a mutant, or trains a faulty program."""
        worker = state.judges[job.arguments[0]] if job.kind == "probe" else state.trainer
        assert worker is not None
        return worker.work(job)

    def result(self, session: Session, state: MuffState, found: Sequence[tuple[Run, OperatorRecord]]) -> MuffAssessment:
        """Scores, intervals and notes."""
        runs, records = zip(*found, strict=True) if found else ((), ())
        return assessment_of(session, state, runs, records, self.options.rule)


def assessment_of(
    session: Session, state: MuffState, runs: Sequence[Run], records: Sequence[OperatorRecord], rule: KillRule
) -> MuffAssessment:
    """The result, with p-values adjusted for multiplicity.

    Args:
        session: Call of the verb.
        state: Originals and trainer.
        runs: Searches of the operators.
        records: Record of each operator.
        rule: Resolved kill rule.
    """
    runner, trainer, subject = state.runner, state.trainer, session.given.subject
    assert subject is not None
    records = adjusted(records)
    scored = [(run, record) for run, record in zip(runs, records, strict=True) if record.status is Status.SCORED]
    values = [record.score for _, record in scored if record.score is not None]
    better = runner.task.higher_is_better
    interval = score_interval([run.scored() for run, _ in scored], rule, better, session.seed)
    return MuffAssessment(
        subject=describe_subject(subject, runner),
        settings={**session.settings, "operators": [run.label for run in runs]},
        evaluation=spent(runner, records),
        score=Score(float(np.mean(values)) if values else None, interval, len(values), len(records)),
        operators=tuple(records),
        notes=tuple(notes(runner, rule, records)),
        trainings=sum(trainer.counted.values()) if trainer else 0,
        kills={key: bits for run in runs for key, bits in run.kills().items()},
        labels=classes_of(runner),
        **session.stamp(),
    )


def adjusted(records: Sequence[OperatorRecord]) -> list[OperatorRecord]:
    """Adds Holm-adjusted p-values over all mutants of all operators judged on the same set."""
    values: dict[int, float] = {}
    for split in {mutant.guiding_set for record in records for mutant in record.mutants}:
        tested = [
            mutant
            for record in records
            for mutant in record.mutants
            if mutant.guiding_set == split and mutant.p_value is not None and mutant.same_as is None
        ]
        corrected = holm([mutant.p_value for mutant in tested if mutant.p_value is not None])
        values.update({id(mutant): float(value) for mutant, value in zip(tested, corrected, strict=True)})

    def with_adjusted(mutant: MutantRecord) -> MutantRecord:
        return replace(mutant, p_adjusted=values.get(id(mutant)))

    return [replace(record, mutants=tuple(map(with_adjusted, record.mutants))) for record in records]
