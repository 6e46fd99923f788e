"""The work of an attack: mutants are made, the model is looked at, inputs are attacked. Each task stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mutiny.campaigns.jobs import Job
from mutiny.verbs.attack.attacked_model import Field
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import ENOUGH, Combine, Ensemble
from mutiny.verbs.attack.mutants import Choice, Drawn, Mutant, chosen
from mutiny.verbs.attack.result import Assault
from mutiny.verbs.attack.similarity import Representation

LOOKED_AT = 500
"""Inputs by which mutants are compared."""


class Way(NamedTuple):
    """An attack, and whether mutants attack with the model."""

    attack: Attack
    mutants: bool = False


@dataclass(frozen=True, eq=False)
class Team:
    """The mutants that attack with the model.

    Attributes:
        members: how each was made.
        similarity: linear CKA of all pairs, the original first.
        joined: whether they attack as one network, which may round otherwise than one after the other.
    """

    members: tuple[Drawn, ...]
    similarity: npt.NDArray[np.float64]
    joined: bool


@dataclass(frozen=True, eq=False)
class Clean:
    """The model before any attack.

    Attributes:
        correct: which answers are right, ``(n,)``.
        masked: share of these inputs at which it has no gradient.
        undefined: gradients of one input that were not finite.
    """

    correct: npt.NDArray[np.bool_]
    masked: float
    undefined: int


@dataclass(frozen=True, eq=False)
class Done:
    """One attack in one way, and how many gradients of one input were not finite."""

    assault: Assault
    undefined: int


class Bench:
    """Does tasks by their kind: ``mutants``, ``clean``, ``attack``.

    Args:
        field: the model and the inputs.
        choice: of mutants.
        combine: what of the members is averaged.
        ways: attacks, by name; the first is the one that is asked for.
    """

    def __init__(self, field: Field, choice: Choice, combine: Combine, ways: Mapping[str, Way]) -> None:
        self.field, self.choice, self.combine, self.ways = field, choice, combine, dict(ways)
        self._ensembles: dict[tuple[Any, ...], Ensemble] = {}

    def __call__(self, task: Job) -> Team | Clean | Done:
        """The result of a task."""
        match task.kind:
            case "mutants":
                return self.team()
            case "clean":
                return self.clean()
            case "attack":
                name, eps, members, joined = task.given
                return self.attacked(name, eps, members, joined)
        raise ValueError(f"no such kind of task: {task.kind}")

    def team(self) -> Team:
        """Makes mutants, chooses among them, and finds out how they attack faster."""
        made = made_by(self.field, self.choice)
        ensemble = self._built([mutant.drawn for mutant in made])
        inputs, labels, _ = next(self.field.batches(self.field.indices))
        loss = next(iter(self.ways.values())).attack.rising(labels)
        joined = len(inputs) >= ENOUGH and loss is not None and ensemble.join(inputs, loss)
        return Team(tuple(mutant.drawn for mutant in made), similarities(self.field, made), joined)

    def clean(self) -> Clean:
        """Asks the model before anything happens."""
        alone, correct = self._built(()), self.field.right()
        masked = self.field.masked(next(iter(self.ways.values())).attack, alone, correct)
        return Clean(correct, masked, alone.undefined)

    def attacked(self, name: str, eps: float | None, members: Sequence[Drawn], joined: bool) -> Done:
        """Attacks all inputs."""
        ensemble = self._ensemble(tuple(members), joined)
        before = ensemble.undefined
        assault = self.field.assault(self.ways[name].attack, ensemble, eps)
        return Done(assault, ensemble.undefined - before)

    def _ensemble(self, members: tuple[Drawn, ...], joined: bool) -> Ensemble:
        """Built once in each process."""
        if (members, joined) not in self._ensembles:
            ensemble = self._built(members)
            inputs, labels, _ = next(self.field.batches(self.field.indices))
            loss = next(iter(self.ways.values())).attack.rising(labels)
            if members and loss is not None:
                ensemble.join(inputs, loss, joined)
            self._ensembles[members, joined] = ensemble
        return self._ensembles[members, joined]

    def _built(self, members: Sequence[Drawn]) -> Ensemble:
        field = self.field
        patches = [one.patch(field.view, field.seed) for one in members]
        return Ensemble(field.model, patches, field.logits, self.combine)

    def __getstate__(self) -> dict[str, Any]:
        """Ensembles do not travel: they are built from seeds where they are needed."""
        return {**self.__dict__, "_ensembles": {}}


def made_by(field: Field, choice: Choice) -> tuple[Mutant, ...]:
    """The mutants of a choice."""
    if not choice.count:
        return ()  # some models can be attacked, but have no layers of which to make mutants
    return chosen(field.view, choice, field.look(field.indices[:LOOKED_AT]), field.seed)


def similarities(field: Field, made: Sequence[Mutant]) -> npt.NDArray[np.float64]:
    """Linear CKA of all pairs, the original first."""
    if not made:
        return np.ones((1, 1))
    each: list[Representation] = [field.original(field.indices[:LOOKED_AT]), *(mutant.features for mutant in made)]
    return np.array([[one.cka(other) for other in each] for one in each])
