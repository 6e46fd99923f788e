"""The verb `strengthen`: chooses inputs that make faults noticed, and measures the choice on held-out faults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.verb import Job, Session, Verb, code_of
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.json_values import hash_of
from mutiny.subjects.data import Data
from mutiny.subjects.data.labels import unknown
from mutiny.verbs.assess.prepared_search import prepared_search
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.ranking import Refused, ranked
from mutiny.verbs.strengthen.context import POOL, StrengthenContext
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.plan import StrengthenFindings, StrengthenPlan
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.starting_point import StartingPoint
from mutiny.verbs.strengthen.summary import strengthening_of
from mutiny.verbs.strengthen.synthesis import synthesize


@dataclass(frozen=True)
class Strengthen(Verb[StrengthenContext, Strengthening]):
    """Arguments of `strengthen`, checked.

    Attributes:
        start: Assessment to start from.
        options: Options.
        tests: Test set.
        originals: Number of originals, which is that of the assessment.
        validation: The subject's validation set, if it has one.
    """

    start: StartingPoint
    options: StrengthenOptions
    tests: Data
    originals: int | None
    validation: Data | None = None

    name = "strengthen"

    def settings(self) -> dict[str, Any]:
        """Seed of the call; batch size and layout of the assessment."""
        pace = self.start.pace
        return {"seed": self.options.seed, "batch_size": pace.batch_size, "layout": pace.layout}

    def decisive(self) -> Mapping[str, Any]:
        """The test set, the validation set, and the assessment without times."""
        assessment = {name: value for name, value in self.start.assessment.to_json().items() if name != "timing"}
        validation = None if self.validation is None else self.validation.fingerprint()
        return {"test": self.tests.fingerprint(), "validation": validation, "assessment": hash_of(assessment)}

    def identity(self) -> Mapping[str, Any]:
        """Budgets, methods and operators, and the parts of the result that are asked for."""
        options = self.options
        return {
            "budget": list(options.budgets),
            "seeds": options.seeds,
            "minimize": options.minimize,
            "tolerance": options.tolerance,
            "synthesize": options.synthesize,
            "methods": [code_of(method) for method in options.methods.values()],
            "tie_break": code_of(options.selectors[options.tie_break_name]),
            "operators": [code_of(operator) for operator in self.start.operators.values()],
        }

    def prepare(self, session: Session) -> StrengthenContext:
        """Gathers originals, reference set, test set and pool."""
        given, pace = session.given, self.start.pace
        pool = {POOL: given.data} if given.source != "the test set" else {}
        search = prepared_search(session, self.start.alpha, pace, others=pool)
        task = search.runner.task
        evidence = Evidence(
            session.models, task, given.data, given.train, forward=given.forward, seed=self.options.seed, pace=pace
        )
        labeled = bool(pool) and not unknown(given.data.targets, task)
        labels = task.check_targets(given.data.targets, "pool") if labeled else None
        context = StrengthenContext(search, self.start.operators, evidence, labels, self.start.scale)
        steps = self._plan(session, context).steps()
        session.progress.stage("strengthening the tests", steps)
        session.expect(steps + 2 * len(session.models))
        return context

    async def plan(self, session: Session, state: StrengthenContext) -> StrengthenFindings:
        """Tries faults on the pool, chooses inputs, and measures the choice."""
        return await self._plan(session, state).run()

    def _plan(self, session: Session, context: StrengthenContext) -> StrengthenPlan:
        return StrengthenPlan(session, self.start, self.options, context)

    def work(self, state: StrengthenContext, job: Job) -> Any:
        """Tries faults of the assessment, finds and tries others, ranks the pool, or synthesizes inputs."""
        match job.kind:
            case "rank":
                name, seed = job.given
                return ranked(self.options.selectors[name], state.evidence.reseeded(seed))
            case "again":
                return [state.tried(record) for record in job.given]
            case "find":
                return state.found(*job.arguments)
            case "synthesize":
                try:
                    return synthesize(state, *job.given)
                except (NotApplicable, BadInput) as reason:
                    return Refused.of(reason)
        raise ValueError(f"unknown kind of job: {job.kind}")

    def result(self, session: Session, state: StrengthenContext, found: StrengthenFindings) -> Strengthening:
        """The inputs to label, and the notice rates before and after labeling."""
        return strengthening_of(session, state, self.start, self.options, found)
