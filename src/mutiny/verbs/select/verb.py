"""The verb `select`: each method ranks the pool with each seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mutiny.campaigns.verb import Job, Plan, Session, Verb, ask, code_of, together
from mutiny.core.errors import JobFailed
from mutiny.core.random import seed_for
from mutiny.core.results import RankedPool, RankedSubject
from mutiny.subjects.data import MutatedData, Mutation
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.subjects.tasks import Classification, task_record
from mutiny.verbs.select import metrics
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.quality import Quality, Truth, quality, references, truth_of
from mutiny.verbs.select.ranking import Ranked, Refused, none_applies, ranked
from mutiny.verbs.select.result import Ranking, Selection

Outcome = list[Ranked] | Refused | JobFailed
"""Outcome of a method: a ranking for each repeat, or the reason why there is none."""


@dataclass(frozen=True)
class Select(Verb[Evidence, Selection]):
    """Checked arguments of `select`."""

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
        """Layers and diversity."""
        return {"layers": list(self.layers) if isinstance(self.layers, tuple) else self.layers, "diverse": self.diverse}

    def decisive(self) -> Mapping[str, Any]:
        """Mutation of inputs."""
        return {"mutate": self.mutate}

    def identity(self) -> Mapping[str, Any]:
        """Methods, budget and repeats."""
        return {
            "methods": [code_of(method) for method in self.methods.values()],
            "budget": [self.budget, self.count],
            "repeats": self.repeats,
        }

    def prepare(self, session: Session) -> Evidence:
        """Settles the kind of outputs, and checks layers and labels."""
        given = session.given
        evidence = Evidence(
            session.models,
            session.settled_task(given.train),
            given.data,
            given.train,
            forward=given.forward,
            seed=session.seed,
            layers=self.layers,
            mutate=self.mutate,
            batch_size=session.runtime.batch_size,
            pace=session.pace,
        )
        if self.layers is not None:
            evidence.all_read_points.choose(self.layers)  # raises for unknown names, even if no method reads features
        truth_of(evidence)  # raises for invalid labels before anything is ranked
        session.settle_pace(evidence.pace)
        session.expect(len(self.methods) * self.repeats)
        session.progress.stage("ranking the pool", len(self.methods) * self.repeats)
        return evidence

    def plan(self, session: Session, state: Evidence) -> list[Plan[Outcome]]:
        """One plan for each method."""
        return [self._ranked(session, name) for name in self.methods]

    async def _ranked(self, session: Session, name: str) -> Outcome:
        """Runs all repeats of a method, the first one alone, because it shows whether the method applies."""
        try:
            first = await self._repeat(session, name, 0)
            rest = await together(self._repeat(session, name, number) for number in range(1, self.repeats))
        except (_DoesNotApply, JobFailed) as reason:
            session.progress.step(name, self.repeats)
            return reason.refused if isinstance(reason, _DoesNotApply) else reason
        return [first, *rest]

    async def _repeat(self, session: Session, name: str, repeat: int) -> Ranked:
        seed = seed_for(session.seed, "repeat", repeat) if repeat else session.seed
        title = f"{name}, repeat {repeat + 1}" if self.repeats > 1 else name
        arguments = [code_of(self.methods[name]), seed, self._spread]
        answer: Ranked | Refused = await ask(session.job("rank", arguments, title, given=(name, seed)))
        if isinstance(answer, Refused):
            raise _DoesNotApply(answer)
        session.progress.step(name)
        return answer

    @property
    def _spread(self) -> int | None:
        """Number of inputs that should be diverse; ``None`` if diversity is off."""
        return self.count if self.diverse else None

    def work(self, state: Evidence, job: Job) -> Ranked | Refused:
        """Ranks the pool by one method with one seed."""
        name, seed = job.given
        return ranked(self.methods[name], state.reseeded(seed), self._spread)

    def result(self, session: Session, state: Evidence, found: Sequence[Outcome]) -> Selection:
        """Rankings with their quality if labels are known, and reasons for methods without a ranking."""
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
            notes=tuple(_notes(session, state, truth)),
            names=given.data.names,
            **session.stamp(),
        )

    def _rankings(self, found: Sequence[Outcome], truth: Truth | None) -> tuple[list[Ranking], dict[str, str]]:
        """Rankings, and reasons for methods without a ranking; a single method raises its reason."""
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
    """Raised in a plan if a method does not apply."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.reason)
        self.refused = refused


def _notes(session: Session, evidence: Evidence, truth: Truth | None) -> Iterator[str]:
    """Caveats about the pool and its labels."""
    given = session.given
    if given.source == "the test set":
        yield "The pool is the test set, because the subject has no pool."
    if isinstance(given.data, MutatedData):
        yield "The pool consists of benign mutations; their clean originals are known."
    if given.task != evidence.task and evidence.task == Classification(2, "probabilities") and _single(evidence):
        yield (
            "All outputs lie between 0 and 1, so they are treated as probabilities of class 1. If they are logits, "
            'give the task: Classification(2, outputs="logits").'
        )
    if not session.repeatable:
        yield f"{UNSTEADY}, so the same seed may choose other inputs."
    missing = unknown(given.data.targets, evidence.task)
    if 0 < missing < len(given.data):
        yield f"Only {len(given.data) - missing} of {len(given.data)} labels are known, so they are not used."
    elif missing and given.data.classes is not None:
        folders = ", ".join(given.data.classes[:5])
        yield (
            f"The pool's class folders ({folders}) are not known as classes, so its labels are not used. Name folders "
            f"as in the training data, or by the number of the class."
        )
    if truth is None:
        return
    if not truth.wrong.any():
        yield "The model answers every input of the pool correctly, so no order can find a fault."
    elif truth.wrong.all():
        yield "The model answers every input of the pool wrongly, so every order is equally good."
    if truth.types is not None and len(np.unique(evidence.pool.targets)) == 1:
        yield f"All inputs of the pool have the label {evidence.pool.targets.flat[0]}."


def _single(evidence: Evidence) -> bool:
    """Whether the model returns one number for two classes."""
    outputs = evidence.outputs()
    return outputs.ndim == 1 or outputs.shape[1] == 1


def _ranking(name: str, method: Selector, repeats: Sequence[Ranked], truth: Truth | None, budget: int) -> Ranking:
    """The ranking of the first seed; the other seeds only show how much the quality depends on the seed."""
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
    """Means and intervals of the measures that are known in all repeats."""
    values: dict[str, list[float | None]] = {
        "fdr": [grade.fdr for grade in grades],
        **{f"fdr {share}": [grade.fdr_at[share] for grade in grades] for share in grades[0].fdr_at},
        "apfd": [grade.apfd for grade in grades],
        "apfd_types": [grade.apfd_types for grade in grades],
        "rauc": [grade.rauc.value if grade.rauc else None for grade in grades],
    }
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    return {name: metrics.over_repeats(column) for name, column in known.items() if len(column) == len(grades)}
