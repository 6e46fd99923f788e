"""The verb `strengthen`: chooses inputs that kill surviving mutants, and scores the choice on held-out mutants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from mutiny.campaigns.verb import Job, Session, Verb, code_of
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.json_values import hash_of
from mutiny.subjects.data import Data
from mutiny.verbs.select.ranking import Refused, ranked
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.held_out_scores import judged
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.plan import StrengthenFindings, StrengthenPlan
from mutiny.verbs.strengthen.proposal import propose
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
    """

    start: StartingPoint
    options: StrengthenOptions
    tests: Data
    originals: int | None

    name = "strengthen"

    def settings(self) -> dict[str, Any]:
        """Seed and mutants of the call; batch size and layout of the assessment."""
        pace, options = self.start.pace, self.options
        return {"seed": options.seed, "mutants": options.mutants, "batch_size": pace.batch_size, "layout": pace.layout}

    def decisive(self) -> Mapping[str, Any]:
        """The test set, and the assessment without times."""
        assessment = {name: value for name, value in self.start.assessment.to_json().items() if name != "timing"}
        return {"test": self.tests.fingerprint(), "assessment": hash_of(assessment)}

    def identity(self) -> Mapping[str, Any]:
        """Budgets, methods and operators, and the parts of the result that are asked for."""
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
        """Gathers originals, test set and pool."""
        context = StrengthenContext.of(session.models, session.given, self.start, self.options.seed)
        session.check_constant()
        steps = self._plan(session, context).steps(context.labels is not None)
        session.progress.stage("strengthening the tests", steps)
        session.expect(steps)
        return context

    async def plan(self, session: Session, state: StrengthenContext) -> StrengthenFindings:
        """Searches for a smaller test set if asked, then proposes inputs and measures the proposal."""
        plan = self._plan(session, state)
        subset = await plan.subset(state) if self.options.minimize and self.start.ranges else None
        return await plan.all(subset, state.labels is not None)

    def _plan(self, session: Session, context: StrengthenContext) -> StrengthenPlan:
        return StrengthenPlan(session, self.start, self.options, len(self.tests), context.judges(self.start.ranges))

    @torch.inference_mode(False)  # some methods need gradients
    def work(self, state: StrengthenContext, job: Job) -> Any:
        """Ranks the pool, chooses from it, judges choices, or synthesizes inputs; ``job.given`` has the arguments."""
        ranges = self.start.ranges
        match job.kind:
            case "rank":
                name, seed = job.given
                return ranked(self.options.selectors[name], state.evidence.reseeded(seed))
            case "choose":
                return propose(state, ranges, *job.given)
            case "judge":
                number, *arguments = job.given
                return judged(state, ranges[number], *arguments)
            case "table":
                seed, number, strengths = job.given
                return state.rows(ranges[number], seed, strengths)
            case "synthesize":
                try:
                    return synthesize(state, ranges, *job.given)
                except (NotApplicable, BadInput) as reason:
                    return Refused.of(reason)
        raise ValueError(f"unknown kind of job: {job.kind}")

    def result(self, session: Session, state: StrengthenContext, found: StrengthenFindings) -> Strengthening:
        """The inputs to label, and the scores before and after labeling."""
        return strengthening_of(session, state, self.start, self.options, found)
