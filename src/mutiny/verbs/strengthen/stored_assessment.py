"""Finds a finished assessment of the same subject in a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mutiny.campaigns.memo import identifiers, identity_of
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.errors import BadInput
from mutiny.faults.parsing import as_operators, describe
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.paired_test import PairedTest
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
    for campaign in reversed(store.campaigns()):
        if campaign.verb != "assess" or campaign.settings["seed"] != seed:
            continue
        result = store.outcome(campaign.id)
        if not isinstance(result, Assessment) or not _same(campaign, subject, result, originals, device):
            continue
        if labels is None or list(labels) == list(result.settings["operators"]):
            return result
    return None


def _same(campaign: Campaign, subject: Subject, result: Assessment, wanted: int | None, device: str | None) -> bool:
    """Whether a campaign has the identity that an assessment of this subject would have."""
    count = result.subject.originals
    if wanted not in (None, count) or (subject.models and count > len(subject.models)):
        return False
    try:
        operators = as_operators([str(label) for label in result.settings["operators"]])
    except BadInput:  # a user's own operator, which is not registered
        return False
    named = {describe(operator): operator for operator in operators}
    verb = Assess(
        named,
        PairedTest(float(campaign.settings["alpha"])),
        int(result.settings["seeds"]),
        count,
        exact=bool(campaign.settings["exact"]),
        validation=subject.validation,
        pool=subject.pool,
    )
    given = as_given(subject, None, None, None, None, "data", pool=False)
    identity = identity_of(given, count, campaign.settings["seed"], device)
    settings: dict[str, Any] = {name: value for name, value in campaign.settings.items() if name != "layout"}
    sizes = (settings["batch_size"], None)  # None if the batch size was measured after the campaign got its identity
    return any(identifiers(verb, given, identity, {**settings, "batch_size": size})[1] == campaign.id for size in sizes)
