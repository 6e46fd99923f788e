"""Looks a finished assessment of the same subject up in a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mutiny.campaigns.memo import identity_of
from mutiny.campaigns.session import identifiers
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.errors import BadInput
from mutiny.faults.naming import describe
from mutiny.faults.parsing import as_faults
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.options import AssessOptions
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.verb import Assess


def finished(
    store: Store | None,
    subject: Subject,
    labels: Sequence[str] | None,
    originals: int | None,
    seed: int,
    device: str | None,
) -> Assessment | None:
    """The last finished assessment in a store of the same networks and data with the same seed.

    Args:
        store: Store to search.
        subject: Subject that must have been assessed.
        labels: Labels of the operators; ``None`` for any.
        originals: Number of originals; ``None`` for any.
        seed: Seed of the assessment.
        device: Torch device.
    """
    if store is None:
        return None
    for each in reversed(store.campaigns()):
        if each.verb != "assess" or each.settings["seed"] != seed:
            continue
        found = store.outcome(each.id)
        if not isinstance(found, Assessment) or not _same(each, subject, found, originals, device):
            continue
        if labels is None or list(labels) == list(found.settings["operators"]):
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
