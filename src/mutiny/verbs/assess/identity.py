"""What decides the results of an assessment, as hashes: the same call is the same campaign, on any day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mutiny.campaigns.memo import code_of, decisive_versions
from mutiny.campaigns.stores.base import Campaign
from mutiny.core.hashing import hash_of
from mutiny.core.records import now, versions
from mutiny.faults.parsing import Fault
from mutiny.subjects import Subject
from mutiny.subjects.tasks import task_identity
from mutiny.subjects.training.describe import describe


def campaign_of(
    subject: Subject, originals: Sequence[str], operators: Sequence[Fault], settings: Mapping[str, Any]
) -> Campaign:  # fmt: skip
    """The campaign of a call of ``assess``; ``originals`` are their fingerprints."""
    wanted = {
        "name": subject.name,
        "subject": subject_identity(subject, originals),
        "operators": [code_of(operator) for operator in operators],
        "settings": dict(settings),
        "versions": decisive_versions(),
    }
    return Campaign(
        id=hash_of(wanted),
        verb="assess",
        subject=subject.name,
        settings=dict(settings),
        versions=versions(),
        created=now(),
        network=originals[0] if originals else "",
    )


def basis_of(subject: Subject, originals: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Hash of everything but the operator that decides what a task of the campaign finds."""
    apart = {name: value for name, value in settings.items() if name != "operators"}
    return hash_of([subject_identity(subject, originals), apart, decisive_versions()])


def subject_identity(subject: Subject, originals: Sequence[str]) -> dict[str, Any]:
    """Networks, data, task and how a network is called."""
    return {
        "originals": list(originals),
        "splits": {name: data.fingerprint() for name, data in subject.splits().items()},
        "task": task_identity(subject.task),
        "forward": hash_of(describe(subject.forward)),
        "recipe": hash_of(describe(subject.recipe)),
    }
