"""The verb behind `synthesize`: chooses passing inputs, and changes them so that suspects become more active."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from torch import nn

from mutiny.campaigns.verb import Job, Session, Verb, ask, together
from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models.activation_gradients import Scale
from mutiny.models.capture import NeuronValue, visible_layers
from mutiny.verbs.locate.ablation import by_layer
from mutiny.verbs.locate.ascent import Ascent, usual
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import model_under_test
from mutiny.verbs.locate.spectrum import Ints
from mutiny.verbs.locate.suspects import Suspect
from mutiny.verbs.locate.synthesis import Keeps, Synthesis, joined, synthesis

Part = tuple[Ints, dict[str, Ints]]
"""Positions of inputs, and the neurons by layer that should become more active on them."""


@dataclass(frozen=True, eq=False)
class SynthesisState:
    """What jobs need: the model, the change, and the inputs with their suspects; one part per job."""

    tested: ModelUnderTest
    ascent: Ascent
    parts: Sequence[Part]


@dataclass(frozen=True)
class Synthesize(Verb[SynthesisState, Synthesis]):
    """Arguments of `synthesize`, checked."""

    suspects: Location | Sequence[Suspect]
    count: int
    ascent: Ascent | Scale | None
    at: NeuronValue
    oracle: Oracle | None
    against: nn.Module | None
    keeps: Keeps | None

    name = "synthesize"

    @property
    def label(self) -> int | None:
        """The class for which suspects were located, if it was one."""
        label: int | None = self.suspects.settings.get("label") if isinstance(self.suspects, Location) else None
        return label

    def prepare(self, session: Session) -> SynthesisState:
        """Checks the suspects against the model, and chooses inputs."""
        given = session.given
        tested = model_under_test(session, self.oracle, self.against)
        ascent = self.ascent
        if not isinstance(ascent, Ascent):
            ascent = replace(usual(given.data), scale=ascent or "none")
        ascent = ascent.fitted(given.data)
        check_neurons(tested, check_suspects(self.suspects))
        parts = exercises(tested, self.suspects, passing_inputs(tested, self.count, self.label))
        if not parts:
            raise BadInput(
                "suspects", "none", "at least one suspicious neuron", "Without failures no neuron is suspicious."
            )
        return SynthesisState(tested, ascent, parts)

    async def plan(self, session: Session, state: SynthesisState) -> list[Synthesis]:
        """One job per part."""
        session.progress.stage("synthesizing", len(state.parts))

        async def part(number: int) -> Synthesis:
            name = f"synthesis {number + 1} of {len(state.parts)}"
            synthesized: Synthesis = await ask(session.job("synthesize", [number], name))
            session.progress.step()
            return synthesized

        return await together(part(number) for number in range(len(state.parts)))

    def work(self, state: SynthesisState, job: Job) -> Synthesis:
        """Changes the inputs of one part."""
        indices, neurons = state.parts[job.arguments[0]]
        return synthesis(state.tested, indices, neurons, state.ascent, self.at, self.keeps)

    def result(self, session: Session, state: SynthesisState, found: list[Synthesis]) -> Synthesis:
        """All parts as one."""
        del state
        settings = {"count": self.count, "seed": session.seed, "label": self.label, **found[0].settings}
        return replace(joined(found), settings=settings)


def check_suspects(given: Any) -> tuple[Suspect, ...]:
    """All suspects in the argument of `synthesize`; an error if it holds anything else."""
    if isinstance(given, Location):
        return tuple(suspect for some in (given.suspects, *given.by_class.values()) for suspect in some)
    if isinstance(given, (str, bytes, Suspect)) or not isinstance(given, Sequence):
        fix = "Put a single suspect into a list: [suspect]." if isinstance(given, Suspect) else ""
        raise BadInput("suspects", type(given).__name__, "the result of mutiny.locate, or a list of its suspects", fix)
    for suspect in given:
        if not isinstance(suspect, Suspect):
            raise BadInput("suspects", f"a list with {suspect!r}", "suspects from the result of mutiny.locate")
    return tuple(given)


def check_neurons(tested: ModelUnderTest, suspects: Sequence[Suspect]) -> None:
    """Raises an error for a neuron that the model does not have."""
    for suspect in suspects:
        size = visible_layers(tested.view, [suspect.layer])[0].neurons
        if not isinstance(suspect.neuron, Integral) or not 0 <= suspect.neuron < size:
            raise BadInput("suspects", f"{suspect.layer}[{suspect.neuron}]", f"a neuron between 0 and {size - 1}")


def passing_inputs(tested: ModelUnderTest, count: int, label: int | None = None) -> Ints:
    """Positions of ``count`` inputs that pass, spread evenly over the classes, or of class ``label`` only."""
    candidates = tested.of_class(label)
    failed = tested.failed(indices=candidates)
    passing = np.flatnonzero(~failed) if candidates is None else candidates[~failed]
    if not len(passing):
        of_class = "" if label is None else f" of class {label}"
        inputs = f"inputs{of_class} that all fail" if len(failed) else f"no inputs{of_class}"
        raise BadInput("data", inputs, "some that pass, which can be made to fail")
    shuffled = generator_for(tested.seed, "synthesize", "inputs").permutation(passing)
    if tested.targets is None:
        return np.sort(shuffled[:count])
    labels = tested.targets.numpy()[shuffled]
    rank = np.empty(len(labels), np.int64)  # of each input in its class; sorting by it takes turns over the classes
    for group in np.unique(labels):
        members = np.flatnonzero(labels == group)
        rank[members] = np.arange(len(members))
    return np.sort(shuffled[np.argsort(rank, kind="stable")[:count]])


def exercises(tested: ModelUnderTest, given: Location | Sequence[Suspect], indices: Ints) -> list[Part]:
    """Pairs each input with the suspects of its class, or with all suspects if they were not ranked by class."""
    suspects = given.suspects if isinstance(given, Location) else tuple(given)
    parts = []
    if isinstance(given, Location) and given.by_class and tested.targets is not None:
        labels = tested.targets.numpy()[indices]
        parts = [(indices[labels == label], by_layer(some)) for label, some in given.by_class.items() if some]
        parts = [part for part in parts if len(part[0])]
    return parts or ([(indices, by_layer(suspects))] if suspects else [])
