"""Jobs of an attack: create mutants, run the clean model, attack inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mutiny.verbs.attack.attacked_model import AttackedModel
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import ENOUGH, Combine, Ensemble
from mutiny.verbs.attack.mutants import Choice, Mutant, MutantSpec, chosen
from mutiny.verbs.attack.result import AttackOutcome

COMPARED = 500
"""Number of inputs by which mutants are compared."""


class Variant(NamedTuple):
    """An attack, and whether mutants take part."""

    attack: Attack
    mutants: bool = False


@dataclass(frozen=True, eq=False)
class ChosenMutants:
    """Mutants that attack together with the model.

    Attributes:
        members: Specification of each mutant.
        similarity: Linear CKA of all pairs, the original first.
        joined: Whether they run as one fused network, which may round differently than one by one.
    """

    members: tuple[MutantSpec, ...]
    similarity: npt.NDArray[np.float64]
    joined: bool


@dataclass(frozen=True, eq=False)
class CleanModel:
    """The model before any attack.

    Attributes:
        correct: Whether each answer is correct, ``(n,)``.
        masked: Share of the correct inputs at which the model has no gradient.
        undefined: Number of gradients, each of one input, that were not finite.
    """

    correct: npt.NDArray[np.bool_]
    masked: float
    undefined: int


@dataclass(frozen=True, eq=False)
class AttackRun:
    """Outcome of one attack, and the number of gradients, each of one input, that were not finite."""

    outcome: AttackOutcome
    undefined: int


class AttackWorker:
    """Attacks a model; the state of the verb `attack`.

    Args:
        attacked: Model and inputs.
        choice: Choice of mutants.
        combine: What is averaged over the members.
        variants: Attacks by name; the first one is the requested attack.
        repeatable: Whether the model answers the same input in the same way twice.
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
        """The requested attack."""
        return next(iter(self.variants.values())).attack

    def mutants(self) -> ChosenMutants:
        """Creates mutants, chooses among them, and measures whether they run faster as one fused network."""
        mutants = create_mutants(self.attacked, self.choice)
        specs = tuple(mutant.spec for mutant in mutants)
        ensemble = self._new_ensemble(specs)
        inputs, labels, _ = next(self.attacked.batches(self.attacked.indices))
        loss = self.first.rising(labels)
        joined = len(inputs) >= ENOUGH and loss is not None and ensemble.join(inputs, loss)
        return ChosenMutants(specs, similarities(self.attacked, mutants), joined)

    def clean(self) -> CleanModel:
        """Runs the model before any attack."""
        alone, correct = self._new_ensemble(()), self.attacked.correct()
        masked = self.attacked.masked(self.first, alone, correct)
        return CleanModel(correct, masked, alone.undefined)

    def attack(self, name: str, eps: float | None, members: Sequence[MutantSpec], joined: bool) -> AttackRun:
        """Attacks all inputs."""
        ensemble = self._ensemble(tuple(members), joined)
        before = ensemble.undefined
        outcome = self.attacked.run(self.variants[name].attack, ensemble, eps)
        return AttackRun(outcome, ensemble.undefined - before)

    def _ensemble(self, members: tuple[MutantSpec, ...], joined: bool) -> Ensemble:
        """The ensemble of these members, which is created once per process."""
        if (members, joined) not in self._ensembles:
            ensemble = self._new_ensemble(members)
            inputs, labels, _ = next(self.attacked.batches(self.attacked.indices))
            loss = self.first.rising(labels)
            if members and loss is not None:
                ensemble.join(inputs, loss, joined)
            self._ensembles[members, joined] = ensemble
        return self._ensembles[members, joined]

    def _new_ensemble(self, members: Sequence[MutantSpec]) -> Ensemble:
        attacked = self.attacked
        patches = [member.patch(attacked.view, attacked.seed) for member in members]
        return Ensemble(attacked.model, patches, attacked.logits, self.combine)

    def __getstate__(self) -> dict[str, Any]:
        """Ensembles are not pickled; each process creates them again from seeds."""
        return {**self.__dict__, "_ensembles": {}}


def create_mutants(attacked: AttackedModel, choice: Choice) -> tuple[Mutant, ...]:
    """Creates mutants and chooses among them."""
    if not choice.count:
        return ()  # a model without layers has no mutants, but can be attacked
    return chosen(attacked.view, choice, attacked.evaluator(attacked.indices[:COMPARED]), attacked.seed)


def similarities(attacked: AttackedModel, mutants: Sequence[Mutant]) -> npt.NDArray[np.float64]:
    """Linear CKA of all pairs, the original first."""
    if not mutants:
        return np.ones((1, 1))
    members = [attacked.representation(attacked.indices[:COMPARED]), *(mutant.features for mutant in mutants)]
    return np.array([[member.cka(other) for other in members] for member in members])
