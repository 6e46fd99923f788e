"""The verb `assess`: for each operator, the weakest mutant that the tests kill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.schedule import queued
from mutiny.campaigns.verb import Job, Session, Verb, code_of
from mutiny.core.records import OperatorRecord
from mutiny.faults.parsing import Fault
from mutiny.subjects.data import Data
from mutiny.subjects.training import Recipe
from mutiny.verbs.assess.arguments import AssessOptions
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.state import AssessState, Run
from mutiny.verbs.assess.summary import assessment_of


@dataclass(frozen=True)
class Assess(Verb[AssessState, Assessment]):
    """Arguments of `assess`, checked.

    Attributes:
        operators: Operators by label.
        options: How mutants are searched and judged.
        originals: Number of originals.
        weak: The subject's own weak set, if it has one.
        recipe: The subject's recipe, if it has one.
    """

    operators: Mapping[str, Fault]
    options: AssessOptions
    originals: int | None
    weak: Data | None = None
    recipe: Recipe | None = None

    name = "assess"

    def settings(self) -> dict[str, Any]:
        """How mutants are searched and judged."""
        return self.options.plain(weak_given=self.weak is not None)

    def decisive(self) -> Mapping[str, Any]:
        """What is known about the subject besides its training and test set."""
        return {"weak": None if self.weak is None else self.weak.fingerprint(), "recipe": self.recipe}

    def identity(self) -> Mapping[str, Any]:
        """The operators."""
        return {"operators": [code_of(operator) for operator in self.operators.values()]}

    def is_final(self, result: Assessment) -> bool:
        """Operators whose jobs failed are tried again."""
        return result.complete

    def prepare(self, session: Session) -> AssessState:
        """Clean passes, the weak set and the pre-flight."""
        return AssessState.of(session, self.operators, self.options)

    async def plan(self, session: Session, state: AssessState) -> list[tuple[Run, OperatorRecord]]:
        """Searches of all operators, each with its record."""
        runs = state.runs(self.operators, self.options, session.basis)
        known = len(state.runner.models) * (2 if self.weak is None else 3)  # clean passes
        session.progress.stage("searching mutants", sum(run.steps for run in runs))
        session.expect(known + sum(run.jobs for run in runs))
        records = await queued(run.plan(session.progress) for run in runs)
        return [*zip(runs, records, strict=True)]

    def work(self, state: AssessState, job: Job) -> Any:
        """Evaluates a mutant, or trains a faulty program."""
        worker = state.judges[job.arguments[0]] if job.kind == "probe" else state.trainer
        assert worker is not None
        return worker.work(job)

    def result(self, session: Session, state: AssessState, found: Sequence[tuple[Run, OperatorRecord]]) -> Assessment:
        """Scores, intervals and notes."""
        runs, records = zip(*found, strict=True) if found else ((), ())
        return assessment_of(session, state, runs, records, self.options.rule)
