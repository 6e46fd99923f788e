"""The verb `strengthen`: choose inputs for the mutants that survive, and judge the choice by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.verb import Job, Session, Verb, code_of
from mutiny.core.json_values import hash_of
from mutiny.subjects.data import Data
from mutiny.verbs.strengthen.arguments import StrengthenOptions
from mutiny.verbs.strengthen.assessed import StartingPoint
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.jobs import do_job
from mutiny.verbs.strengthen.plan import StrengthenFindings, StrengthenPlan
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.summary import strengthening_of


@dataclass(frozen=True)
class Strengthen(Verb[StrengthenContext, Strengthening]):
    """Arguments of `strengthen`, checked.

    Attributes:
        start: What is known from the assessment.
        options: What is asked for.
        tests: The test set.
    """

    start: StartingPoint
    options: StrengthenOptions
    tests: Data

    name = "strengthen"

    @property
    def originals(self) -> int:  # type: ignore[override]
        """Number of originals: those of the assessment."""
        return self.start.originals

    def settings(self) -> dict[str, Any]:
        """Seed and mutants of the call; batch size and layout of the assessment."""
        pace, options = self.start.pace, self.options
        return {"seed": options.seed, "mutants": options.mutants, "batch_size": pace.batch_size, "layout": pace.layout}

    def decisive(self) -> Mapping[str, Any]:
        """The test set, and the assessment without times."""
        assessment = {name: value for name, value in self.start.assessment.to_json().items() if name != "timing"}
        return {"test": self.tests.fingerprint(), "assessment": hash_of(assessment)}

    def identity(self) -> Mapping[str, Any]:
        """What to choose, to compare with and to measure."""
        options = self.options
        return {
            "budget": list(options.budgets),
            "repeats": options.repeats,
            "minimize": options.minimize,
            "synthesize": options.synthesize,
            "methods": [code_of(method) for method in options.methods.values()],
            "tie_break": code_of(options.selectors[options.tie_break_name]),
            "operators": [operator.label for operator in self.start.ranges],
        }

    def prepare(self, session: Session) -> StrengthenContext:
        """The originals on the test set and on the pool."""
        context = StrengthenContext.of(session.models, session.given, self.start, self.options.seed)
        session.check_constant()
        steps = self._plan(session, context).steps(context.labels is not None)
        session.progress.stage("strengthening the tests", steps)
        session.expect(steps)
        return context

    async def plan(self, session: Session, state: StrengthenContext) -> StrengthenFindings:
        """The smaller test set if it is asked for, then the proposal and its measurement."""
        plan = self._plan(session, state)
        subset = await plan.subset(state) if self.options.minimize and self.start.ranges else None
        return await plan.all(subset, state.labels is not None)

    def _plan(self, session: Session, context: StrengthenContext) -> StrengthenPlan:
        return StrengthenPlan(session, self.start, self.options, len(self.tests), context.judges(self.start.ranges))

    def work(self, state: StrengthenContext, job: Job) -> Any:
        """Ranks the pool, chooses from it, or judges a choice."""
        return do_job(job, state, self.start.ranges, self.options.selectors)

    def result(self, session: Session, state: StrengthenContext, found: StrengthenFindings) -> Strengthening:
        """What to label, and what it is worth."""
        return strengthening_of(session, state, self.start, self.options, found)
