"""What decides the result of a verb, as hashes: the same call is the same campaign, on any day."""

from __future__ import annotations

import inspect
import json
from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any

import torch

from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.hashing import hash_of
from mutiny.core.records import now, versions
from mutiny.models.placement import placement
from mutiny.subjects.given import Given
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.subject import as_device
from mutiny.subjects.tasks import task_identity
from mutiny.subjects.training.describe import describe


@dataclass(frozen=True)
class Call:
    """One call of a verb on what a user has given.

    Attributes:
        campaign: as it was begun before, if it was.
        basis: hash of networks, data, settings and versions, which decide every task; empty if nothing is kept.
        outcome: the result, if there is one.
    """

    campaign: Campaign
    basis: str = ""
    outcome: Any = None

    @classmethod
    def of(
        cls,
        verb: str,
        given: Given,
        settings: Mapping[str, Any],
        wanted: Mapping[str, Any],
        store: Store | None,
        originals: int | None = 1,
        device: str | None = None,
    ) -> Call:
        """Looks a call up in a store.

        Args:
            verb: that is called.
            given: what it is asked about.
            settings: that decide every task, in plain values; the seed is among them.
            wanted: what else decides the result: methods, functions, numbers.
            store: where it may be found; without one nothing is hashed.
            originals: how many take part; all there are, or one that is trained, if not given.
            device: where to run.
        """
        created = now()
        if store is None:
            return cls(Campaign("", verb, given.name, dict(settings), versions(), created=created))
        identity = identity_of(given, originals, settings["seed"], device)
        basis = hash_of([identity, dict(settings), decisive_versions()])
        network = identity["originals"][0]
        asked = {name: code_of(value) for name, value in wanted.items()}
        there = 1 if given.subject is None else len(given.subject.models)
        own = hash_of([verb, basis, asked, given.name, given.source, there])
        found = begun(store, own)
        if found is not None:
            found = replace(found, network=network)
            return cls(found, basis, recalled(store, found))
        return cls(Campaign(own, verb, given.name, dict(settings), versions(), created=created, network=network), basis)


def begun(store: Store | None, campaign: str) -> Campaign | None:
    """A campaign as it was begun before, if it was."""
    return None if store is None else next((each for each in store.campaigns() if each.id == campaign), None)


def recalled(store: Store | None, campaign: Campaign | None) -> Any:
    """The result of a campaign that was asked for again, if it has one; the campaign is now the last in the store."""
    if store is None or campaign is None:
        return None
    found = store.outcome(campaign.id)
    if found is not None:
        again = replace(campaign, command=store.command or campaign.command)
        store.open(again, store.tally(campaign.id).most)
    return found


def identity_of(given: Given, originals: int | None, seed: int, device: str | None) -> dict[str, Any]:
    """Networks, data, task and how a network is called."""
    if given.subject is None:
        networks = [hash_of(describe(given.model))]
    else:
        networks = given.subject.fingerprints(given.count(originals), seed=seed, device=device)
    return {
        "originals": networks,
        "data": given.data.fingerprint(),
        "train": None if given.train is None else given.train.fingerprint(),
        "task": task_identity(given.task),
        "forward": hash_of(describe(given.forward)),
    }


def code_of(thing: Any) -> str:
    """Hash of a value; of a record such as a method or an attack, that of its parameters and its class's source."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return hash_of(describe(thing))
    sources = [_source(kind) for kind in type(thing).__mro__ if kind not in (object, ABC)]
    values = {field.name: describe(getattr(thing, field.name)) for field in fields(thing)}
    return hash_of([type(thing).__qualname__, values, sources])


@cache
def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # typed into a prompt
        return json.dumps(describe(kind), sort_keys=True)


def decisive_versions() -> dict[str, str]:
    """Versions of what computes results; another one may round otherwise."""
    return {name: value for name, value in versions().items() if name in ("mutiny", "torch")}


def threads_of(engine: Engine) -> int:
    """With how many threads an engine's tasks are done."""
    return torch.get_num_threads() if engine.threads is None else engine.threads


def pace_of(campaign: Campaign) -> Pace | None:
    """At which a campaign was begun; ``None`` if it is new."""
    layout = campaign.settings.get("layout")
    return None if layout is None else Pace(campaign.settings["batch_size"], layout)


def device_of(given: Given, wanted: str | None) -> str:
    """Where tasks are done."""
    if given.subject is not None:
        return given.subject.device(wanted)
    assert given.model is not None
    return str(placement(given.model).device if wanted is None else as_device(wanted))
