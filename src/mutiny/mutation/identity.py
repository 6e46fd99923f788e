"""What decides the results of an assessment, as hashes: the same call is the same campaign, on any day."""

from __future__ import annotations

import inspect
import json
import time
from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mutiny.operators.parsing import Fault
from mutiny.records import to_plain, versions
from mutiny.stores.base import Campaign, Store
from mutiny.subjects import Subject
from mutiny.tasks import hash_of
from mutiny.training.describe import describe

PACE = ("batch_size", "layout")
"""Settings that are measured unless the user gives them; a campaign that goes on keeps those it began with."""


def campaign_of(
    subject: Subject, originals: Sequence[str], operators: Sequence[Fault], settings: Mapping[str, Any]
) -> Campaign:  # fmt: skip
    """The campaign of a call of ``assess``; ``originals`` are their fingerprints."""
    wanted = {
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
        created=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    )


def begun(store: Store | None, campaign: Campaign) -> Campaign | None:
    """The same campaign as it was begun before, if it was."""
    found = [] if store is None else store.campaigns()
    return next((each for each in found if each.id == campaign.id), None)


def basis_of(subject: Subject, originals: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Hash of everything but the operator that decides what a task of the campaign finds."""
    apart = {name: value for name, value in settings.items() if name != "operators"}
    return hash_of([subject_identity(subject, originals), apart, decisive_versions()])


def subject_identity(subject: Subject, originals: Sequence[str]) -> dict[str, Any]:
    """Networks, data, task and how a network is called."""
    return {
        "originals": list(originals),
        "splits": {name: data.fingerprint() for name, data in subject.splits().items()},
        "task": {"kind": type(subject.task).__name__, **asdict(subject.task)},
        "forward": hash_of(describe(subject.forward)),
        "recipe": hash_of(describe(subject.recipe)),
    }


def code_of(operator: Fault) -> str:
    """Hash of an operator's parameters and of the source of its class."""
    sources = [_source(kind) for kind in type(operator).__mro__ if kind not in (object, ABC)]
    return hash_of([type(operator).__qualname__, to_plain(vars(operator)), sources])


def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # typed into a prompt
        return json.dumps(describe(kind), sort_keys=True)


def decisive_versions() -> dict[str, str]:
    """Versions of what computes results; another one may round otherwise."""
    return {name: value for name, value in versions().items() if name in ("mutiny", "torch")}
