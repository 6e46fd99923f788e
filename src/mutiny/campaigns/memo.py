"""Hashes of everything that decides the result of a call, so that a store recognizes the same call."""

from __future__ import annotations

import inspect
import json
from abc import ABC
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from mutiny.core.json_values import hash_of
from mutiny.core.results import versions
from mutiny.subjects.given import Given
from mutiny.subjects.tasks import task_identity
from mutiny.subjects.training.describe import describe

if TYPE_CHECKING:
    from mutiny.campaigns.verb import Verb


def identity_of(given: Given, originals: int | None, seed: int, device: str | None) -> dict[str, Any]:
    """Hashes of networks, data, task and forward function."""
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


def first_settings(
    verb: Verb[Any, Any], seed: int, batch_size: int | None, device: str, threads: int
) -> dict[str, Any]:
    """Settings with which a campaign starts; `Session.settle` adds what is determined later.

    Args:
        verb: Verb with its arguments.
        seed: Seed of everything random.
        batch_size: Inputs per forward pass; ``None`` if it is measured later.
        device: Name of the device.
        threads: Torch threads of each job.
    """
    return {"seed": seed, "batch_size": batch_size, "device": device, "threads": threads, **verb.settings()}


def identifiers(
    verb: Verb[Any, Any], given: Given, subject: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[str, str]:
    """Hash of everything that decides every job of a call, and the id of its campaign.

    Args:
        verb: Verb with its arguments.
        given: Model, data and task.
        subject: Identity of ``given``, from `identity_of`.
        settings: Settings with which the campaign starts.
    """
    decisive = {name: code_of(value) for name, value in verb.decisive().items()}
    known = hash_of([subject, dict(settings), decisive_versions(), decisive])
    models = 1 if given.subject is None else len(given.subject.models)
    asked = {name: code_of(value) for name, value in verb.identity().items()}
    return known, hash_of([verb.name, known, asked, given.name, given.source, models])


def job_basis(known: str, settings: Mapping[str, Any]) -> str:
    """Hash of everything that decides every job of a call, with the settings so far."""
    return hash_of([known, dict(settings)])


def code_of(thing: Any) -> str:
    """Hash of a value; for a record such as a method or an attack, of its parameters and the source of its class."""
    if not is_dataclass(thing) or isinstance(thing, type):
        return hash_of(describe(thing))
    sources = [_source(kind) for kind in type(thing).__mro__ if kind not in (object, ABC)]
    values = {field.name: describe(getattr(thing, field.name)) for field in fields(thing)}
    return hash_of([type(thing).__qualname__, values, sources])


@cache
def _source(kind: type) -> str:
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):  # a class that was typed into a prompt has no source file
        return json.dumps(describe(kind), sort_keys=True)


def decisive_versions() -> dict[str, str]:
    """Versions of the packages that compute results; another version may round differently."""
    return {name: value for name, value in versions().items() if name in ("mutiny", "torch")}
