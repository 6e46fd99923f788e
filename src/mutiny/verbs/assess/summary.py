"""The result of an assessment, from the records of its operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mutiny.campaigns.session import Session
from mutiny.core.records import MutantRecord, OperatorRecord, Status
from mutiny.core.stats import holm
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.result import Assessment, Score, classes_of, describe_subject, notes, spent
from mutiny.verbs.assess.score_interval import score_interval
from mutiny.verbs.assess.state import AssessState, Run


def assessment_of(
    session: Session, state: AssessState, runs: Sequence[Run], records: Sequence[OperatorRecord], rule: KillRule
) -> Assessment:
    """The result, with p-values adjusted for multiplicity.

    Args:
        session: Call of the verb.
        state: Originals and trainer.
        runs: Searches of the operators.
        records: What each search found.
        rule: Resolved kill rule.
    """
    runner, trainer, subject = state.runner, state.trainer, session.given.subject
    assert subject is not None
    records = adjusted(records)
    scored = [(run, record) for run, record in zip(runs, records, strict=True) if record.status is Status.SCORED]
    values = [record.score for _, record in scored if record.score is not None]
    better = runner.task.higher_is_better
    interval = score_interval([run.scored() for run, _ in scored], rule, better, session.seed)
    return Assessment(
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
