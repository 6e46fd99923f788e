"""The verb `locate`: neurons are counted, ranked, and silenced to see whether the suspicion is justified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from mutiny.campaigns.verb import Job, Session, Verb, ask
from mutiny.core.errors import BadInput
from mutiny.core.results import LocatedSubject
from mutiny.models.capture import NeuronValue
from mutiny.models.read_points import ReadPoint
from mutiny.subjects.tasks import Classification, Task, task_record
from mutiny.verbs.locate.ablation import Ablation, ablation, silenced
from mutiny.verbs.locate.activity import Activity
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.measures import Measure
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.notes import notes_on_model, notes_on_suspects
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import model_under_test
from mutiny.verbs.locate.spectrum import Spectrum, check_class
from mutiny.verbs.locate.suspects import Suspect, suspects

NO_OTHERS = "Too few others are left in the suspects' layers to compare with, so nobody was silenced: lower k."
Found = tuple[Spectrum, tuple[Suspect, ...], Ablation | None]


@dataclass(frozen=True, eq=False)
class Located:
    """What jobs work on: the model with its failures, and the layers whose neurons are counted."""

    tested: ModelUnderTest
    points: tuple[ReadPoint, ...]


@dataclass(frozen=True)
class Locate(Verb[Located, Location]):
    """Arguments of `locate`, checked."""

    measure: Measure
    k: int
    label: int | None
    by_class: bool
    active: Activity
    at: NeuronValue
    silent: bool
    layers: str | Sequence[str] | None
    oracle: Oracle | None
    against: nn.Module | None
    validate: int

    name = "locate"

    def settings(self) -> dict[str, Any]:
        """How neurons are read, and what a failure is."""
        names = [self.layers] if isinstance(self.layers, str) else self.layers or ()
        labels = "against another model" if self.against is not None else "labels"
        return {
            "at": self.at,
            "layers": None if self.layers is None else list(map(str, names)),
            "failures": "oracle" if self.oracle else labels,
        }

    def decisive(self) -> Mapping[str, Any]:
        """When a neuron is active, and what tells failures."""
        return {"active": self.active, "oracle": self.oracle, "against": self.against}

    def identity(self) -> Mapping[str, Any]:
        """How suspects are ranked and checked."""
        names = ("measure", "k", "label", "by_class", "silent", "validate")
        return {name: getattr(self, name) for name in names}

    def prepare(self, session: Session) -> Located:
        """Refuses classes and layers that the model does not have."""
        tested = model_under_test(
            session.given,
            session.model,
            session.repeatable,
            self.oracle,
            self.against,
            session.seed,
            session.runtime.device,
            session.runtime.batch_size,
        )
        tested.pace = session.pace or tested.pace
        _check_classes(tested.task, self.label, self.by_class)
        points = tested.hidden(self.layers)
        session.settle(batch_size=int(tested.pace.batch_size), layout=tested.pace.layout)
        session.expect(1 + (2 + self.validate) * bool(self.validate))
        return Located(tested, points)

    async def plan(self, session: Session, state: Located) -> Found:
        """Counts what neurons do, then silences the suspects."""
        session.progress.stage("counting", 1)
        spectrum: Spectrum = await ask(session.job("count", [], "what neurons do"))
        session.progress.step()
        found = suspects(spectrum, self.measure, self.k, self.label, self.silent, guilty=True)
        checked = None
        if self.validate:
            label = None if self.label is None else int(self.label)
            checked = await ablation(session, found, spectrum, self.validate, label)
        return spectrum, found, checked

    def work(self, state: Located, job: Job) -> Any:
        """``count``: the spectrum. ``before`` and ``silence``: which inputs fail, of all or of one class."""
        tested = state.tested
        match job.kind:
            case "count":
                return tested.spectrum(state.points, self.active, self.at)
            case "before":
                return tested.failed(indices=tested.of_class(job.arguments[0]))
            case "silence":
                label, neurons = job.given
                return tested.failed(silenced(tested.view, neurons), tested.of_class(label))
        raise ValueError(f"unknown kind of job: {job.kind}")

    def result(self, session: Session, state: Located, found: Found) -> Location:
        """Suspects with the counts behind them."""
        given, tested = session.given, state.tested
        spectrum, ranked, checked = found
        unreadable = tested.unreadable(state.points) if self.layers is None else ()
        originals = len(given.subject.models) if given.subject else 1
        return Location(
            subject=LocatedSubject(
                name=given.name,
                model=type(tested.model).__name__,
                task=task_record(tested.task),
                inputs=len(given.data),
                source=given.source,
                neurons=int(sum(spectrum.sizes)),
                layers=dict(zip(spectrum.layers, spectrum.sizes, strict=True)),
            ),
            settings={
                **session.settings,
                "k": self.k,
                "label": None if self.label is None else int(self.label),
                "by_class": self.by_class,
                "active": str(self.active),
                "silent": self.silent,
                "validate": self.validate,
            },
            measure=str(self.measure),
            suspects=ranked,
            by_class=self._by_class(spectrum) if self.by_class else {},
            spectrum=spectrum,
            ablation=checked,
            failing=spectrum.failing(self.label),
            passing=spectrum.passing(self.label),
            notes=(
                *notes_on_suspects(spectrum, ranked, self.k, self.label, self.silent),
                *notes_on_model(tested, originals, unreadable),
                *([NO_OTHERS] if self.validate and ranked and checked is None else []),
            ),
            **session.stamp(),
        )

    def _by_class(self, spectrum: Spectrum) -> dict[int, tuple[Suspect, ...]]:
        classes = range(spectrum.groups)
        return {label: suspects(spectrum, self.measure, self.k, label, self.silent, guilty=True) for label in classes}


def _check_classes(task: Task, label: Any, by_class: bool) -> None:
    for name, value, asked in (("label", label, label is not None), ("by_class", by_class, by_class)):
        if asked and not isinstance(task, Classification):
            raise BadInput(name, value, "a classifier, which has classes", f"Leave out {name} for regression.")
    if label is not None and isinstance(task, Classification):
        check_class("label", label, task.classes)
