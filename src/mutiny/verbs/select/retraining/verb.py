"""The verb behind `accuracy_after_retraining`: in each repeat every method ranks candidates, and copies are trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mutiny.campaigns.verb import Job, Plan, Session, Verb, ask, code_of, together
from mutiny.core.json_values import hash_of, to_plain
from mutiny.core.results import RankedPool, RankedSubject
from mutiny.subjects import Subject
from mutiny.subjects.data import Mutation
from mutiny.subjects.tasks import task_record
from mutiny.verbs.select.base import Order, Selector
from mutiny.verbs.select.ranking import Refused, none_applies
from mutiny.verbs.select.retraining.result import BEFORE, CONTROL, Retraining, Trial, gains
from mutiny.verbs.select.retraining.roles import Protocol, Roles
from mutiny.verbs.select.retraining.trials import Start, Trials, retraining_recipe


class Repeat(NamedTuple):
    """One repeat: its start, accuracies, and the methods that do not apply with the reason."""

    start: Start
    accuracies: Trial
    skipped: dict[str, str]


@dataclass(frozen=True)
class Retrain(Verb[Trials, Retraining]):
    """Checked arguments of `accuracy_after_retraining`; at least one method of ``asked`` must apply."""

    asked: tuple[str, ...]
    methods: Mapping[str, Selector]
    count: int
    protocol: Protocol
    epochs: int
    learning_rate: float | None
    train_inputs: int | None
    layers: str | Sequence[str] | None
    mutate: Mutation | None
    repeats: int
    subject: Subject
    originals: int | None

    name = "accuracy_after_retraining"

    def settings(self) -> dict[str, Any]:
        """Protocol, training and read points."""
        names = ("protocol", "epochs", "learning_rate", "layers", "train_inputs")
        return {name: to_plain(getattr(self, name)) for name in names}

    def decisive(self) -> Mapping[str, Any]:
        """Data and code that decide what a copy learns."""
        return {"test": self.subject.test, "recipe": self.subject.recipe, "mutate": self.mutate}

    def identity(self) -> Mapping[str, Any]:
        """Methods, budget and repeats."""
        methods = [code_of(method) for method in self.methods.values()]
        return {"methods": methods, "budget": self.count, "repeats": self.repeats}

    def prepare(self, session: Session) -> Trials:
        """Makes a recipe for each model, and compares pool, test set and training data."""
        subject, models, size = self.subject, session.models, session.settings["batch_size"]
        recipes = [retraining_recipe(model, subject.recipe, self.epochs, self.learning_rate) for model in models]
        task = session.settled_task(subject.training.data)
        roles = Roles.of(session.given.data, subject, self.protocol)
        session.progress.stage("retraining", self.repeats * (1 + len(self.methods)) * self.epochs)
        session.expect(self.repeats * (2 + 2 * len(self.methods)))
        return Trials(models, recipes, task, subject.training.data, subject.forward, roles, session.seed, size)

    def plan(self, session: Session, state: Trials) -> list[Plan[Repeat]]:
        """One plan for each repeat."""
        return [self._repeat(session, number) for number in range(self.repeats)]

    async def _repeat(self, session: Session, repeat: int) -> Repeat:
        start: Start = await ask(session.job("before", [repeat], f"repeat {repeat + 1}: before"))
        answers = await together(self._ranked(session, repeat, name) for name in self.methods)
        chosen: dict[str, Order | None] = {CONTROL: None}
        skipped: dict[str, str] = {}
        for name, answer in zip(self.methods, answers, strict=True):
            if isinstance(answer, Refused):
                skipped[name] = answer.reason.rstrip(".")
            else:
                chosen[name] = answer[: self.count]
        _check_some(self.asked, skipped)
        for name in skipped:
            session.progress.step(name, self.epochs)
        after = await together(self._trained(session, repeat, name, inputs) for name, inputs in chosen.items())
        return Repeat(start, {BEFORE: start.accuracies, **dict(zip(chosen, after, strict=True))}, skipped)

    async def _ranked(self, session: Session, repeat: int, name: str) -> Order | Refused:
        arguments = [repeat, code_of(self.methods[name])]
        answer: Order | Refused = await ask(session.job("rank", arguments, f"repeat {repeat + 1}: {name}", given=name))
        return answer

    async def _trained(self, session: Session, repeat: int, name: str, chosen: Order | None) -> list[float]:
        key = None if chosen is None else hash_of(chosen.tolist())  # identifies the job, whatever the method
        title = f"repeat {repeat + 1}: retrained with {name}"
        accuracies: list[float] = await ask(session.job("retrain", [repeat, key], title, given=chosen))
        session.progress.step(name, self.epochs)
        return accuracies

    def work(self, state: Trials, job: Job) -> Any:
        """``rank``: an order of candidates. ``before``: the start of a repeat. ``retrain``: accuracies of a copy."""
        repeat = job.arguments[0]
        if job.kind == "rank":
            return state.rank(repeat, self.methods[job.given], self.layers, self.mutate)
        if job.kind == "before":
            return state.start(repeat, self.train_inputs)
        return state.retrain(repeat, job.given, self.train_inputs)

    def result(self, session: Session, state: Trials, found: Sequence[Repeat]) -> Retraining:
        """Gains of each method over all repeats."""
        skipped = {name: reason for repeat in reversed(found) for name, reason in repeat.skipped.items()}
        _check_some(self.asked, skipped)
        given, trials = session.given, [repeat.accuracies for repeat in found]
        fewest = [min(sizes) for sizes in zip(*(repeat.start.judges for repeat in found), strict=False)]
        last = found[-1].start
        names = ("epochs", "learning_rate", "batch_size", "optimizer")
        return Retraining(
            subject=RankedSubject(
                name=given.name,
                model=type(state.models[0]).__name__,
                originals=len(session.models),
                task=task_record(state.task),
                pool=RankedPool(inputs=len(given.data), source=given.source, labeled=True),
            ),
            settings={
                "seed": session.seed,
                "repeats": self.repeats,
                "originals": len(session.models),
                "train_inputs": last.train_inputs,
                **{name: getattr(state.recipes[0], name) for name in names},
            },
            protocol=self.protocol,
            budget=self.count,
            candidates=last.candidates,
            judges=fewest[0],
            test_judges=fewest[1] if len(fewest) > 1 else 0,
            gains=gains(trials, 0),
            test_gains=gains(trials, 1) if len(fewest) > 1 else {},
            skipped=skipped,
            notes=tuple(state.roles.notes(fewest[0])),
            **session.stamp(),
        )


def _check_some(asked: Collection[str], skipped: Mapping[str, str]) -> None:
    """An error if none of the methods that were asked for applies."""
    if all(name in skipped for name in asked):
        raise none_applies(skipped)
