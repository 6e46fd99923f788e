"""What an assessment has left behind: survivors, killable ranges of strength, and the assessment itself in a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mutiny.campaigns.memo import identity_of
from mutiny.campaigns.session import identifiers
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.errors import BadInput
from mutiny.core.records import Status
from mutiny.faults import Operator
from mutiny.faults.naming import describe
from mutiny.faults.parsing import as_faults
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.arguments import AssessOptions
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import Assess
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import Range


def finished(
    store: Store | None, subject: Subject, labels: Sequence[str] | None, originals: int | None, seed: int,
    device: str | None,
) -> Assessment | None:  # fmt: skip
    """The last finished assessment of these very networks and data, under this seed, that a store has.

    Args:
        store: where it may be.
        subject: what must have been assessed.
        labels: of the operators, if they matter.
        originals: how many, if that matters.
        seed: of the campaign.
        device: where.
    """
    if store is None:
        return None
    for each in reversed(store.campaigns()):
        if each.verb != "assess" or each.settings["seed"] != seed:
            continue
        found = store.outcome(each.id)
        if not isinstance(found, Assessment) or (labels is not None and labels != found.settings["operators"]):
            continue
        if _same(each, subject, found, originals, device):
            return found
    return None


def _same(campaign: Campaign, subject: Subject, found: Assessment, wanted: int | None, device: str | None) -> bool:
    """Whether a campaign has the identity that this subject would give it; its pace may have been measured later."""
    count = found.subject.originals
    if wanted not in (None, count) or (subject.models and count > len(subject.models)):
        return False
    try:
        operators = as_faults([str(label) for label in found.settings["operators"]])
    except BadInput:  # an operator of the user's own, which has no name here
        return False
    named = {describe(operator): operator for operator in operators}
    verb = Assess(named, AssessOptions.of_settings(campaign.settings), count, subject.weak, subject.recipe)
    given = as_given(subject, None, None, None, None, "data", pool=False)
    identity = identity_of(given, count, campaign.settings["seed"], device)
    settings: dict[str, Any] = {name: value for name, value in campaign.settings.items() if name != "layout"}
    sizes = (settings["batch_size"], None)
    return any(identifiers(verb, given, identity, {**settings, "batch_size": size})[1] == campaign.id for size in sizes)


def check_fits(result: Assessment, subject: Subject) -> None:
    """An error if an assessment is of something else."""
    sizes = {name: split.inputs for name, split in result.subject.splits.items() if name != "weak"}
    wanted = {"train": len(subject.train), "test": len(subject.test)}
    if sizes != wanted or result.subject.name != subject.name:
        raise BadInput(
            "assessment", f"one of {result.subject.name} with {sizes}", f"one of {subject.name} with {wanted}",
            "Assess this subject, or leave out assessment=.",
        )  # fmt: skip


def ranges(result: Assessment, operators: Sequence[Operator]) -> list[Range]:
    """The killable strengths of every operator that has a score."""
    known = {describe(operator): operator for operator in operators}
    return [
        Range(known[one.label], one.label, one.sets["train"].weakest_killed, one.bounds[1] if one.bounds else None)
        for one in result.operators
        if one.status is Status.SCORED and one.label in known
    ]  # fmt: skip


def survivors(result: Assessment) -> tuple[Key, ...]:
    """Mutants that the training set kills and the test set does not, strong ones first."""
    return tuple(
        (one.label, each.strength)
        for one in result.operators
        for each in sorted(one.survivors(), key=lambda mutant: -(mutant.strength or 0.0))
    )


def spread(keys: Sequence[Key], most: int) -> Iterator[Key]:
    """At most so many of each operator, evenly picked.

    >>> [*spread([("WI", 0.9), ("WI", 0.7), ("WI", 0.6), ("NI", 0.5)], 2)]
    [('WI', 0.9), ('WI', 0.6), ('NI', 0.5)]
    """
    for label in dict.fromkeys(label for label, _ in keys):
        own = [key for key in keys if key[0] == label]
        picked = np.unique(np.linspace(0, len(own) - 1, min(most, len(own))).round().astype(int))
        yield from (own[number] for number in picked)
