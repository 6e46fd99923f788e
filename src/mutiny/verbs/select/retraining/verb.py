"""The verb behind `accuracy_after_retraining`: in each repeat every method ranks candidates, and copies are trained."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from mutiny.campaigns.verb import Job, Plan, Session, Verb, ask, code_of, together
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.json_values import hash_of, to_plain
from mutiny.core.random import generator_for, seed_for
from mutiny.models import Forward
from mutiny.models.placement import placement
from mutiny.subjects import Subject
from mutiny.subjects.data import Data, Mutation
from mutiny.subjects.data.joined import Joined
from mutiny.subjects.inference.passes import Pace, evaluate, settle
from mutiny.subjects.tasks import Task
from mutiny.subjects.training import Recipe
from mutiny.verbs.select.base import Order, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.ranking import Refused, none_applies
from mutiny.verbs.select.retraining.further_training import further, retrained
from mutiny.verbs.select.retraining.gains import BEFORE, CONTROL, Retraining, Trial, gains
from mutiny.verbs.select.retraining.roles import Protocol, Roles, some_of


@dataclass(frozen=True)
class Start:
    """A repeat before any training.

    Attributes:
        accuracies: of the original, on each set of judges.
        judges: how many are in each set.
        candidates: inputs that may be chosen.
        train_inputs: that are trained on again.
    """

    accuracies: list[float]
    judges: tuple[int, ...]
    candidates: int
    train_inputs: int


class Repeat(NamedTuple):
    """One repeat: its start, accuracies, and the methods that do not apply with the reason."""

    start: Start
    accuracies: Trial
    skipped: dict[str, str]


@dataclass(eq=False)
class Trials:
    """What jobs work on: models, a recipe for each, and the inputs that may be chosen or judge."""

    models: Sequence[nn.Module]
    recipes: Sequence[Recipe]
    task: Task
    train: Data
    forward: Forward
    roles: Roles
    seed: int
    batch_size: int
    evidence: dict[int, Evidence] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """What methods computed does not travel to workers."""
        return {**self.__dict__, "evidence": {}}


@dataclass(frozen=True)
class Retrain(Verb[Trials, Retraining]):
    """Arguments of `accuracy_after_retraining`, checked; at least one method of ``asked`` must apply."""

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
        """How copies are trained."""
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
        """Says for each model how a copy is trained, and draws who may be chosen and who judges."""
        subject, models, size = self.subject, session.models, session.settings["batch_size"]
        recipes = [further(model, subject.recipe, self.epochs, self.learning_rate) for model in models]
        task = settle(subject.task, models, subject.train, subject.forward, size)
        session.check_constant()
        roles = Roles.of(session.given.data, subject, self.protocol)
        session.progress.stage("retraining", self.repeats * (1 + len(self.methods)) * self.epochs)
        session.expect(self.repeats * (2 + 2 * len(self.methods)))
        return Trials(models, recipes, task, subject.train, subject.forward, roles, session.seed, size)

    def plan(self, session: Session, state: Trials) -> list[Plan[Repeat]]:
        """One plan for each repeat."""
        return [self._repeat(session, number) for number in range(self.repeats)]

    async def _repeat(self, session: Session, repeat: int) -> Repeat:
        start: Start = await ask(session.job("before", [repeat], f"repeat {repeat + 1}: before"))
        answers = await together(self._ranked(session, repeat, name) for name in self.methods)
        ranked = dict(zip(self.methods, answers, strict=True))
        orders = {name: answer for name, answer in ranked.items() if not isinstance(answer, Refused)}
        refused = {name: answer for name, answer in ranked.items() if isinstance(answer, Refused)}
        skipped = {name: answer.reason.rstrip(".") for name, answer in refused.items()}
        _check_some(self.asked, skipped)
        for name in refused:
            session.progress.step(name, self.epochs)
        chosen: dict[str, Order | None] = {CONTROL: None, **orders}
        after = await together(self._trained(session, repeat, name, order) for name, order in chosen.items())
        return Repeat(start, {BEFORE: start.accuracies, **dict(zip(chosen, after, strict=True))}, skipped)

    async def _ranked(self, session: Session, repeat: int, name: str) -> Order | Refused:
        arguments = [repeat, code_of(self.methods[name])]
        answer: Order | Refused = await ask(session.job("rank", arguments, f"repeat {repeat + 1}: {name}", given=name))
        return answer

    async def _trained(self, session: Session, repeat: int, name: str, order: Order | None) -> list[float]:
        chosen = None if order is None else order[: self.count]
        which = None if chosen is None else hash_of(chosen.tolist())
        shown = f"repeat {repeat + 1}: retrained with {name}"
        accuracies: list[float] = await ask(session.job("retrain", [repeat, which], shown, given=chosen))
        session.progress.step(name, self.epochs)
        return accuracies

    @torch.inference_mode(False)  # training needs gradients
    def work(self, state: Trials, job: Job) -> Any:
        """``rank``: an order of candidates. ``before``: the original's accuracy. ``retrain``: that of a copy."""
        number = job.arguments[0]
        seed = state.seed if not number else seed_for(state.seed, "repeat", number)
        turn = number % len(state.models)
        candidates, judges = state.roles.drawn(generator_for(seed, "retraining", "halves"))
        if job.kind == "rank":
            return self._rank(state, job.given, number, turn, seed, candidates)
        again = some_of(state.train, self.train_inputs, generator_for(seed, "retraining", "train"))
        model = state.models[turn]
        if job.kind == "before":
            return Start(_judged(state, model, judges), tuple(map(len, judges)), len(candidates), len(again))
        data = again if job.given is None else Joined(again, candidates.subset(job.given))
        recipe, own = state.recipes[turn], seed_for(seed, "retraining")
        return _judged(state, retrained(model, recipe, data, state.task, own, forward=state.forward), judges)

    def _rank(self, state: Trials, name: str, number: int, turn: int, seed: int, candidates: Data) -> Order | Refused:
        if number not in state.evidence:
            state.evidence = {
                number: Evidence(
                    (*state.models[turn:], *state.models[:turn]),
                    state.task,
                    candidates,
                    state.train,
                    forward=state.forward,
                    seed=seed,
                    layers=self.layers,
                    mutate=self.mutate,
                    batch_size=state.batch_size,
                )
            }
        try:
            return self.methods[name].rank(state.evidence[number])[0]
        except (NotApplicable, BadInput) as reason:
            return Refused.of(reason)

    def result(self, session: Session, state: Trials, found: Sequence[Repeat]) -> Retraining:
        """Gains of each method over all repeats."""
        skipped = {name: reason for repeat in reversed(found) for name, reason in repeat.skipped.items()}
        _check_some(self.asked, skipped)
        trials = [repeat.accuracies for repeat in found]
        fewest = [min(sizes) for sizes in zip(*(repeat.start.judges for repeat in found), strict=False)]
        last = found[-1].start
        names = ("epochs", "learning_rate", "batch_size", "optimizer")
        return Retraining(
            protocol=self.protocol,
            budget=self.count,
            candidates=last.candidates,
            judges=fewest[0],
            test_judges=fewest[1] if len(fewest) > 1 else 0,
            gains=gains(trials, 0),
            test_gains=gains(trials, 1) if len(fewest) > 1 else {},
            skipped=skipped,
            settings={
                "seed": session.seed,
                "repeats": self.repeats,
                "originals": len(session.models),
                "train_inputs": last.train_inputs,
                **{name: getattr(state.recipes[0], name) for name in names},
            },
            notes=tuple(state.roles.notes(fewest[0])),
        )


def _judged(state: Trials, model: nn.Module, judges: Sequence[Data]) -> list[float]:
    return [_accuracy(model, data, state.task, state.forward, state.batch_size) for data in judges]


def _accuracy(model: nn.Module, data: Data, task: Task, forward: Forward, batch_size: int) -> float:
    targets = torch.from_numpy(task.check_targets(data.targets, "judging")).to(placement(model).device)
    return evaluate(lambda x: forward(model, x), model, data, targets, task, Pace(batch_size)).metric


def _check_some(asked: Collection[str], skipped: Mapping[str, str]) -> None:
    """An error if none of the methods that were asked for applies."""
    if all(name in skipped for name in asked):
        raise none_applies(skipped)
