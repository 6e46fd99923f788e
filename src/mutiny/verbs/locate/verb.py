"""The verb `locate`: counts when neurons are active, ranks them, and silences the suspects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import nn

from mutiny.campaigns.verb import Job, Session, Verb, ask
from mutiny.core.results import LocatedSubject
from mutiny.models.capture import NeuronValue
from mutiny.models.read_points import ReadPoint
from mutiny.subjects.tasks import task_record
from mutiny.verbs.locate.ablation import Ablation, ablation, silenced
from mutiny.verbs.locate.activity import Activity
from mutiny.verbs.locate.counting import count_hits, hidden_points, unreadable_layers
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.measures import Measure
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.result import Location, notes_on_model, notes_on_suspects
from mutiny.verbs.locate.setup import check_classes, model_under_test
from mutiny.verbs.locate.spectrum import Spectrum
from mutiny.verbs.locate.suspects import Suspect, suspects

Found = tuple[Spectrum, tuple[Suspect, ...], Ablation | None]


@dataclass(frozen=True, eq=False)
class Located:
    """What jobs need: the model with its failures, and the layers whose neurons are counted."""

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
        """Where neurons are read, and the definition of a failure."""
        names = [self.layers] if isinstance(self.layers, str) else self.layers or ()
        labels = "against another model" if self.against is not None else "labels"
        return {
            "at": self.at,
            "layers": None if self.layers is None else list(map(str, names)),
            "failures": "oracle" if self.oracle else labels,
        }

    def decisive(self) -> Mapping[str, Any]:
        """Condition for an active neuron, and the functions that define a failure."""
        return {"active": self.active, "oracle": self.oracle, "against": self.against}

    def identity(self) -> Mapping[str, Any]:
        """Arguments that decide how suspects are ranked and silenced."""
        names = ("measure", "k", "label", "by_class", "silent", "validate")
        return {name: getattr(self, name) for name in names}

    def prepare(self, session: Session) -> Located:
        """Checks classes and layers against the model."""
        tested = model_under_test(session, self.oracle, self.against)
        tested.pace = session.pace or tested.pace
        check_classes(tested.task, self.label, self.by_class)
        points = hidden_points(tested, self.layers)
        session.settle_pace(tested.pace)
        session.expect(1 + (2 + self.validate) * bool(self.validate))
        return Located(tested, points)

    async def plan(self, session: Session, state: Located) -> Found:
        """Counts on which inputs neurons are active, then silences the suspects."""
        session.progress.stage("counting", 1)
        spectrum: Spectrum = await ask(session.job("count", [], "active neurons"))
        session.progress.step()
        ranked = self._suspects(spectrum, self.label)
        effect = None
        if self.validate:
            label = None if self.label is None else int(self.label)
            effect = await ablation(session, ranked, spectrum, self.validate, label)
        return spectrum, ranked, effect

    def work(self, state: Located, job: Job) -> Any:
        """``count``: the spectrum. ``before`` and ``silence``: which inputs fail, of all or of one class."""
        tested = state.tested
        match job.kind:
            case "count":
                return count_hits(tested, state.points, self.active, self.at)
            case "before":
                return tested.failed(indices=tested.of_class(job.arguments[0]))
            case "silence":
                label, neurons = job.given
                return tested.failed(silenced(tested.view, neurons), tested.of_class(label))
        raise ValueError(f"unknown kind of job: {job.kind}")

    def result(self, session: Session, state: Located, found: Found) -> Location:
        """The suspects, with the counts behind them."""
        given, tested = session.given, state.tested
        spectrum, ranked, effect = found
        unreadable = unreadable_layers(tested, state.points) if self.layers is None else ()
        originals = given.count(None)
        by_class = {label: self._suspects(spectrum, label) for label in range(spectrum.groups)} if self.by_class else {}
        uncompared = bool(self.validate and ranked) and effect is None
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
            by_class=by_class,
            spectrum=spectrum,
            ablation=effect,
            failing=spectrum.failing(self.label),
            passing=spectrum.passing(self.label),
            notes=(
                *notes_on_suspects(spectrum, ranked, self.k, self.label, self.silent),
                *notes_on_model(originals, unreadable, tested.repeatable, uncompared),
            ),
            **session.stamp(),
        )

    def _suspects(self, spectrum: Spectrum, label: int | None) -> tuple[Suspect, ...]:
        return suspects(spectrum, self.measure, self.k, label, self.silent, suspicious_only=True)
