"""Finds results of other calls in a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from mutiny.campaigns.memo import first_settings, identifiers, identity_of
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.verb import Verb
from mutiny.subjects.given import Given

R = TypeVar("R")


def stored_result(
    store: Store,
    kind: type[Verb[Any, R]],
    given: Given,
    seed: int,
    device: str | None,
    verb_of: Callable[[Campaign, R], Verb[Any, R] | None],
) -> R | None:
    """The last result in a store of a verb on the same networks and data with the same seed, whatever its arguments.

    Args:
        store: Store to search.
        kind: Class of the verb.
        given: Model, data and task.
        seed: Seed of the call.
        device: Torch device.
        verb_of: Function that tells from a campaign and its result what the verb was; ``None`` if it is not wanted.
    """
    for campaign in reversed(store.campaigns()):
        if campaign.verb != kind.name or campaign.settings.get("seed") != seed:
            continue
        result = store.outcome(campaign.id)
        verb = None if result is None else verb_of(campaign, result)
        if verb is not None and _is_call_of(campaign, verb, given, device):
            found: R = result
            return found
    return None


def _is_call_of(campaign: Campaign, verb: Verb[Any, Any], given: Given, device: str | None) -> bool:
    """Whether a campaign has the id that a call of this verb would have."""
    names = ("seed", "batch_size", "device", "threads")
    if any(name not in campaign.settings for name in names):  # mutiny did not write it
        return False
    seed, size, device_name, threads = (campaign.settings[name] for name in names)
    subject = identity_of(given, verb.originals, seed, device)
    sizes = size, None  # unless it was given, the batch size was settled after the campaign got its id
    begun = [first_settings(verb, seed, size, device_name, threads) for size in sizes]
    return any(identifiers(verb, given, subject, settings)[1] == campaign.id for settings in begun)
