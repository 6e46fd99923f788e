"""Notes of an attack: caveats about the data, the mutants and the gradients."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.subjects.given import only_first
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.attack.attacked_model import AttackedModel
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.worker import AttackWorker, ChosenMutants, CleanModel

NOTABLE = 0.01
"""Smallest share of inputs without a gradient that is noted."""


def notes(
    worker: AttackWorker, originals: int, mutants: ChosenMutants, clean: CleanModel, undefined: int
) -> Iterator[str]:
    """Yields one sentence per caveat.

    Args:
        worker: State of the verb.
        originals: Number of originals of the subject.
        mutants: Mutants that attack with the model.
        clean: The model before the attack.
        undefined: Number of gradients, each of one input, that were not finite.
    """
    yield from _data_notes(originals, worker.repeatable, clean)
    yield from _mutant_notes(worker.attacked, mutants, clean)
    yield from _gradient_notes(worker.first, clean.masked, undefined)


def _data_notes(originals: int, repeatable: bool, clean: CleanModel) -> Iterator[str]:
    yield from only_first(originals, "was attacked")
    if not clean.correct.any():
        yield "Every answer is wrong before the attack, so no correct answer can be lost."
    if not repeatable:
        yield f"{UNSTEADY}."


def _mutant_notes(attacked: AttackedModel, mutants: ChosenMutants, clean: CleanModel) -> Iterator[str]:
    bad = [member for member in mutants.members if member.accuracy < 0.5 * max(clean.correct.mean(), 1e-9)]
    if bad:
        verb, them = ("has", "it") if len(bad) == 1 else ("have", "them")
        some = f"{len(bad)} of {len(mutants.members)} mutants"
        yield f"{some} {verb} less than half of the accuracy: a floor of 0.5 would drop {them}."
    if mutants.members and attacked.compared_layer is None:
        yield "The output layer does not read one row for each input, so mutants are compared by their outputs."


def _gradient_notes(attack: Attack, masked: float, undefined: int) -> Iterator[str]:
    if masked >= NOTABLE:
        margin = "loss=margin or " * (getattr(attack, "loss", "") == "cross-entropy")
        advice = f"; try {margin}autoattack beside" if attack.bounded else ""
        yield (
            f"{masked:.0%} of the correct inputs have no gradient in the original: success may be low because of "
            f"masked gradients, not robustness{advice}."
        )
    if undefined:
        yield f"Gradients were not finite {undefined:,} times (one input in one pass); such values count as 0."
