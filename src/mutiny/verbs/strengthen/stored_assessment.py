"""Finds a finished assessment of the same subject in a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mutiny.campaigns.recall import stored_result
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.faults.parsing import as_operators, describe
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.paired_test import PairedTest
from mutiny.verbs.assess.judges.parsing import as_judges
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

    def wanted(campaign: Campaign, result: Any) -> Assess | None:
        if not isinstance(result, Assessment) or originals not in (None, result.subject.originals):
            return None
        try:
            if labels is not None and list(labels) != list(result.settings["operators"]):
                return None
            return _verb_of(campaign, result, subject)
        except (LookupError, TypeError, ValueError):  # a user's own operator, or settings that mutiny did not write
            return None

    given = as_given(subject, None, None, None, None, "data", pool=False)
    return stored_result(store, Assess, given, seed, device, wanted)


def _verb_of(campaign: Campaign, result: Assessment, subject: Subject) -> Assess | None:
    """The verb of an assessment, if it was one of this subject; ``None`` if the subject cannot have had it."""
    if subject.models and result.subject.originals > len(subject.models):
        return None
    operators = as_operators([str(label) for label in result.settings["operators"]])
    return Assess(
        {describe(operator): operator for operator in operators},
        _judges_of(campaign),
        int(result.settings["seeds"]),
        result.subject.originals,
        exact=bool(campaign.settings["exact"]),
        validation=subject.validation,
        pool=subject.pool,
    )


def _judges_of(campaign: Campaign) -> tuple[Judge, ...]:
    """The judges of an assessment; `BadInput` if one is a function, because a store does not decide what is run."""
    labels = campaign.settings.get("judges")
    if labels is None:
        return (PairedTest(float(campaign.settings["alpha"])),)
    return as_judges([str(label) for label in labels], files=False)
