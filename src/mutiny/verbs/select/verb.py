"""The verb `select`: each method ranks the pool under each seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mutiny.campaigns.verb import Job, Plan, Session, Verb, ask, code_of, together
from mutiny.core.errors import JobFailed
from mutiny.core.random import seed_for
from mutiny.core.results import RankedPool, RankedSubject
from mutiny.subjects.data import Mutation
from mutiny.subjects.inference.passes import settle
from mutiny.subjects.tasks import task_record
from mutiny.verbs.select import metrics
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.quality import Quality, Truth, quality
from mutiny.verbs.select.ranking import Ranked, Refused, none_applies, ranked
from mutiny.verbs.select.result import Ranking, Selection
from mutiny.verbs.select.truth import notes, references, truth_of

Outcome = list[Ranked] | Refused | JobFailed
"""What became of a method: a ranking for each repeat, or why there is none."""


@dataclass(frozen=True)
class Select(Verb[Evidence, Selection]):
    """Arguments of `select`, checked."""

    methods: Mapping[str, Selector]
    budget: str | float
    count: int
    layers: str | tuple[str, ...] | None
    diverse: bool
    mutate: Mutation | None
    repeats: int
    originals: int | None

    name = "select"

    def settings(self) -> dict[str, Any]:
        """Where features are read, and whether the budget is diverse."""
        return {"layers": list(self.layers) if isinstance(self.layers, tuple) else self.layers, "diverse": self.diverse}

    def decisive(self) -> Mapping[str, Any]:
        """How inputs are changed."""
        return {"mutate": self.mutate}

    def identity(self) -> Mapping[str, Any]:
        """Methods, budget and repeats."""
        return {
            "methods": [code_of(method) for method in self.methods.values()],
            "budget": [self.budget, self.count],
            "repeats": self.repeats,
        }

    def prepare(self, session: Session) -> Evidence:
        """Settles what the outputs are and how fast the model runs."""
        given, models, size = session.given, session.models, session.runtime.batch_size
        _ = session.repeatable  # refuses a model that changes itself before anything else is asked of it
        task = settle(given.task, models, given.data if given.train is None else given.train, given.forward, size)
        evidence = Evidence(
            models,
            task,
            given.data,
            given.train,
            forward=given.forward,
            seed=session.seed,
            layers=self.layers,
            mutate=self.mutate,
            batch_size=size,
            pace=session.pace,
        )
        if self.layers is not None:
            evidence.all_read_points.choose(
                self.layers
            )  # a wrong name is an error, also where no method reads features
        truth_of(evidence)  # refuses wrong labels before anything is ranked
        session.settle(batch_size=int(evidence.pace.batch_size), layout=evidence.pace.layout)
        session.expect(len(self.methods) * self.repeats)
        session.progress.stage("ranking the pool", len(self.methods) * self.repeats)
        return evidence

    def plan(self, session: Session, state: Evidence) -> list[Plan[Outcome]]:
        """One plan for each method."""
        return [self._ranked(session, name) for name in self.methods]

    async def _ranked(self, session: Session, name: str) -> Outcome:
        """All repeats of a method; the first shows whether it applies."""
        try:
            first = await self._repeat(session, name, 0)
            rest = await together(self._repeat(session, name, number) for number in range(1, self.repeats))
        except (_DoesNotApply, JobFailed) as reason:
            session.progress.step(name, self.repeats)
            return reason.refused if isinstance(reason, _DoesNotApply) else reason
        return [first, *rest]

    async def _repeat(self, session: Session, name: str, repeat: int) -> Ranked:
        seed = seed_for(session.seed, "repeat", repeat) if repeat else session.seed
        shown = f"{name}, repeat {repeat + 1}" if self.repeats > 1 else name
        arguments = [code_of(self.methods[name]), seed, self._spread]
        answer: Ranked | Refused = await ask(session.job("rank", arguments, shown, given=(name, seed)))
        if isinstance(answer, Refused):
            raise _DoesNotApply(answer)
        session.progress.step(name)
        return answer

    @property
    def _spread(self) -> int | None:
        """Number of inputs that should not look alike, if that is asked for."""
        return self.count if self.diverse else None

    def work(self, state: Evidence, job: Job) -> Ranked | Refused:
        """Ranks the pool by one method under one seed."""
        name, seed = job.given
        return ranked(self.methods[name], state.reseeded(seed), self._spread)

    def result(self, session: Session, state: Evidence, found: Sequence[Outcome]) -> Selection:
        """Rankings, how good they are where labels are known, and why a method gave none."""
        given, truth = session.given, truth_of(state)
        rankings, skipped = self._rankings(found, truth)
        session.complete = not any(isinstance(outcome, JobFailed) for outcome in found)  # crashed jobs are tried again
        return Selection(
            subject=RankedSubject(
                name=given.name,
                model=type(state.model).__name__,
                originals=len(session.models),
                task=task_record(state.task),
                pool=RankedPool(
                    inputs=len(given.data),
                    source=given.source,
                    labeled=truth is not None,
                    wrong=None if truth is None else int(truth.wrong.sum()),
                ),
            ),
            settings={
                **session.settings,
                "methods": list(self.methods),
                "budget": str(self.budget),
                "repeats": self.repeats,
            },
            budget=self.count,
            rankings=tuple(rankings),
            skipped=skipped,
            references=references(truth, self.count),
            notes=tuple(notes(given, truth, state, session.repeatable)),
            names=given.data.names,
            **session.stamp(),
        )

    def _rankings(self, found: Sequence[Outcome], truth: Truth | None) -> tuple[list[Ranking], dict[str, str]]:
        """Rankings, and methods that gave none with the reason."""
        rankings, skipped = [], {}
        for (name, method), outcome in zip(self.methods.items(), found, strict=True):
            if isinstance(outcome, Refused) and len(self.methods) == 1:
                raise outcome.error(name)
            if isinstance(outcome, JobFailed) and len(self.methods) == 1:
                raise outcome
            if isinstance(outcome, (Refused, JobFailed)):
                skipped[name] = outcome.reason.rstrip(".")
            else:
                rankings.append(_ranking(name, method, outcome, truth, self.count))
        if not rankings:
            raise none_applies(skipped)
        return rankings, skipped


class _DoesNotApply(Exception):
    """A method does not apply."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.reason)
        self.refused = refused


def _ranking(name: str, method: Selector, repeats: Sequence[Ranked], truth: Truth | None, budget: int) -> Ranking:
    """The ranking of the first seed; the other seeds only tell how much it depends on the seed."""
    first = repeats[0]
    grades = [] if truth is None else [quality(ranking.order, truth, budget) for ranking in repeats]
    return Ranking(
        name,
        method.title,
        first.order,
        first.scores,
        first.seconds,
        first.notes,
        grades[0] if grades else None,
        _over_repeats(grades) if len(grades) > 1 else {},
    )


def _over_repeats(grades: Sequence[Quality]) -> dict[str, metrics.Repeated]:
    values: dict[str, list[float | None]] = {
        "fdr": [grade.fdr for grade in grades],
        **{f"fdr {share}": [grade.fdr_at[share] for grade in grades] for share in grades[0].fdr_at},
        "apfd": [grade.apfd for grade in grades],
        "apfd_types": [grade.apfd_types for grade in grades],
        "rauc": [grade.rauc.value if grade.rauc else None for grade in grades],
    }
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    return {name: metrics.over_repeats(column) for name, column in known.items() if len(column) == len(grades)}
