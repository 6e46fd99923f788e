"""What a careful reader of an attack should know."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.verbs.attack.attacked_model import AttackedModel
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.worker import AttackWorker, ChosenMutants, CleanModel

NOTABLE = 0.01
"""Share of inputs without a gradient that is worth a note."""


def notes(
    worker: AttackWorker, originals: int, team: ChosenMutants, clean: CleanModel, undefined: int
) -> Iterator[str]:
    """About the data, the mutants and the gradients."""
    yield from _data_notes(originals, worker.repeatable, clean)
    yield from _mutant_notes(worker.attacked, team, clean)
    yield from _gradient_notes(worker.first, clean.masked, undefined)


def _data_notes(originals: int, repeatable: bool, clean: CleanModel) -> Iterator[str]:
    if originals > 1:
        yield f"The subject has {originals} originals; only the first is attacked."
    if not clean.correct.any():
        yield "Every answer is wrong before the attack, so there is nothing to lose."
    if not repeatable:
        yield f"{UNSTEADY}."


def _mutant_notes(attacked: AttackedModel, team: ChosenMutants, clean: CleanModel) -> Iterator[str]:
    bad = [one for one in team.members if one.accuracy < 0.5 * max(clean.correct.mean(), 1e-9)]
    if bad:
        verb, them = ("has", "it") if len(bad) == 1 else ("have", "them")
        some = f"{len(bad)} of {len(team.members)} mutants"
        yield f"{some} {verb} less than half of the accuracy: a floor of 0.5 would refuse {them}."
    if team.members and attacked.listened is None:
        yield "The output layer does not read one row for each input, so mutants are compared by their answers."


def _gradient_notes(way: Attack, masked: float, undefined: int) -> Iterator[str]:
    if masked >= NOTABLE:
        margin = "loss=margin or " * (getattr(way, "loss", "") == "cross-entropy")
        advice = f"; try {margin}autoattack beside" if way.bounded else ""
        yield (
            f"{masked:.0%} of the correct inputs have no gradient in the original: success may be low because of "
            f"masked gradients, not robustness{advice}."
        )
    if undefined:
        yield f"Gradients were not finite {undefined:,} times (one input in one pass); such numbers count as 0."
