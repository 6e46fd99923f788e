"""Proof that this user gave the command of a campaign: a store is data, and its command may be anybody's.

The proof is about the command and the id of the campaign, not about results: whoever can write a file can change them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.user_key import is_proof, key_problem, prove

KIND = "command of a campaign"
PENDING = "pending"
"""Id of the campaign of a command that has not computed yet which campaign it is."""


def with_command(campaign: Campaign, command: Mapping[str, Any] | None) -> Campaign:
    """The campaign with the command that this process was given, and a proof of it; as it was if there is none."""
    if command is None:
        return campaign
    return replace(campaign, command=command, proof=prove(KIND, _said(campaign, command)))


def is_own(campaign: Campaign) -> bool:
    """Whether this user gave the campaign's command."""
    return is_proof(campaign.proof, KIND, _said(campaign, campaign.command))


def why_not_own(campaign: Campaign) -> str:
    """What may be the reason why a campaign is not this user's, in a sentence or two."""
    if not campaign.proof:
        why = "It has no proof: an older mutiny wrote it, or one without a key, or one that is not yours."
    else:
        why = "Its proof was made with another key, as by another user or on another machine, or it was changed since."
    return f"{why} {key_problem()}".strip()


def announce(store: Store, command: Mapping[str, Any], created: str) -> None:
    """Stores a command before it is known which campaign it is, so that it can be resumed from the first moment.

    `withdraw` drops it again, and so does the campaign when it starts.
    """
    withdraw(store)  # left by a command that was killed
    begun = Campaign(PENDING, str(command["verb"]), str(command["arguments"]["subject"]), created=created)
    store.open(with_command(begun, command))


def withdraw(store: Store) -> None:
    """Drops the command that `announce` stored, if it is still there."""
    if any(campaign.id == PENDING for campaign in store.campaigns()):
        store.drop(PENDING)


def _said(campaign: Campaign, command: Any) -> list[Any]:
    return [campaign.id, command]
