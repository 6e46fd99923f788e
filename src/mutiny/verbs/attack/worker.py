"""What workers do in an attack: create mutants, look at the model, attack inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mutiny.verbs.attack.attacked_model import AttackedModel
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import ENOUGH, Combine, Ensemble
from mutiny.verbs.attack.mutants import Choice, Drawn, Mutant, chosen
from mutiny.verbs.attack.result import Assault
from mutiny.verbs.attack.similarity import Representation

LOOKED_AT = 500
"""Inputs by which mutants are compared."""


class Variant(NamedTuple):
    """An attack, and whether mutants attack with the model."""

    attack: Attack
    mutants: bool = False


@dataclass(frozen=True, eq=False)
class ChosenMutants:
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
class CleanModel:
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
class AttackRun:
    """One attack in one way, and how many gradients of one input were not finite."""

    assault: Assault
    undefined: int


class AttackWorker:
    """Attacks a model; the state of the verb `attack`.

    Args:
        attacked: the model and the inputs.
        choice: of mutants.
        combine: what of the members is averaged.
        variants: attacks, by name; the first is the one that is asked for.
    """

    def __init__(
        self,
        attacked: AttackedModel,
        choice: Choice,
        combine: Combine,
        variants: Mapping[str, Variant],
        repeatable: bool = True,
    ) -> None:
        self.attacked, self.choice, self.combine, self.variants = attacked, choice, combine, dict(variants)
        self.repeatable = repeatable
        self._ensembles: dict[tuple[Any, ...], Ensemble] = {}

    @property
    def first(self) -> Attack:
        """The attack that was asked for."""
        return next(iter(self.variants.values())).attack

    def mutants(self) -> ChosenMutants:
        """Makes mutants, chooses among them, and finds out how they attack faster."""
        made = made_by(self.attacked, self.choice)
        ensemble = self._built([mutant.drawn for mutant in made])
        inputs, labels, _ = next(self.attacked.batches(self.attacked.indices))
        loss = self.first.rising(labels)
        joined = len(inputs) >= ENOUGH and loss is not None and ensemble.join(inputs, loss)
        return ChosenMutants(tuple(mutant.drawn for mutant in made), similarities(self.attacked, made), joined)

    def clean(self) -> CleanModel:
        """Asks the model before anything happens."""
        alone, correct = self._built(()), self.attacked.right()
        masked = self.attacked.masked(self.first, alone, correct)
        return CleanModel(correct, masked, alone.undefined)

    def attack(self, name: str, eps: float | None, members: Sequence[Drawn], joined: bool) -> AttackRun:
        """Attacks all inputs."""
        ensemble = self._ensemble(tuple(members), joined)
        before = ensemble.undefined
        assault = self.attacked.assault(self.variants[name].attack, ensemble, eps)
        return AttackRun(assault, ensemble.undefined - before)

    def _ensemble(self, members: tuple[Drawn, ...], joined: bool) -> Ensemble:
        """Built once in each process."""
        if (members, joined) not in self._ensembles:
            ensemble = self._built(members)
            inputs, labels, _ = next(self.attacked.batches(self.attacked.indices))
            loss = self.first.rising(labels)
            if members and loss is not None:
                ensemble.join(inputs, loss, joined)
            self._ensembles[members, joined] = ensemble
        return self._ensembles[members, joined]

    def _built(self, members: Sequence[Drawn]) -> Ensemble:
        attacked = self.attacked
        patches = [one.patch(attacked.view, attacked.seed) for one in members]
        return Ensemble(attacked.model, patches, attacked.logits, self.combine)

    def __getstate__(self) -> dict[str, Any]:
        """Ensembles do not travel: they are built from seeds where they are needed."""
        return {**self.__dict__, "_ensembles": {}}


def made_by(attacked: AttackedModel, choice: Choice) -> tuple[Mutant, ...]:
    """The mutants of a choice."""
    if not choice.count:
        return ()  # some models can be attacked, but have no layers of which to make mutants
    return chosen(attacked.view, choice, attacked.look(attacked.indices[:LOOKED_AT]), attacked.seed)


def similarities(attacked: AttackedModel, made: Sequence[Mutant]) -> npt.NDArray[np.float64]:
    """Linear CKA of all pairs, the original first."""
    if not made:
        return np.ones((1, 1))
    original = attacked.original(attacked.indices[:LOOKED_AT])
    members: list[Representation] = [original, *(mutant.features for mutant in made)]
    return np.array([[member.cka(other) for other in members] for member in members])
