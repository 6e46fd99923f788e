"""One call of a verb while it runs: what it was given, its models, its settings, its jobs."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from torch import nn

from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.jobs import Job, Work
from mutiny.campaigns.memo import identifiers, identity_of, job_basis
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.runtime import Runtime
from mutiny.campaigns.schedule import Plan
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.progress import Progress
from mutiny.core.records import now, versions
from mutiny.models.state import ModelState, check_untouched
from mutiny.subjects.given import Given
from mutiny.subjects.inference import determinism
from mutiny.subjects.inference.passes import Pace

if TYPE_CHECKING:
    from mutiny.campaigns.verb import Verb


class Session:
    """One call of a verb. It stays in the process of the caller; nothing of it travels to workers.

    Args:
        verb: What is asked.
        given: What it is asked about.
        runtime: How it runs, with engine and store open.

    Attributes:
        settings: Settings so far: those of runtime and verb, and what `settle` added.
        complete: Whether the result may be stored; a verb that wants another attempt sets it to ``False``.
    """

    def __init__(self, verb: Verb[Any, Any], given: Given, runtime: Runtime) -> None:
        assert isinstance(runtime.engine, Engine)
        assert runtime.store is None or isinstance(runtime.store, Store)
        self.given, self.runtime, self.originals, self.complete = given, runtime, verb.originals, True
        self.engine, self.store = runtime.engine, runtime.store
        self.settings: dict[str, Any] = {
            "seed": runtime.seed,
            "batch_size": runtime.batch_size,
            "device": given.device(runtime.device),
            "threads": runtime.threads,
            **verb.settings(),
        }
        self._start = time.monotonic()
        self.campaign = Campaign("", verb.name, given.name, dict(self.settings), versions(), created=now())
        self._known = ""
        if self.store is not None:
            self._identify(self.store, verb)

    def _identify(self, store: Store, verb: Verb[Any, Any]) -> None:
        """The same call is the same campaign, on any day: its id is a hash of everything that decides the result."""
        subject = identity_of(self.given, self.originals, self.runtime.seed, self.runtime.device)
        self._known, own = identifiers(verb, self.given, subject, self.settings)
        begun = next((campaign for campaign in store.campaigns() if campaign.id == own), None)
        self.campaign = replace(begun or replace(self.campaign, id=own), network=subject["originals"][0])

    @property
    def progress(self) -> Progress:
        """Receiver of progress messages."""
        return self.runtime.progress

    @property
    def seed(self) -> int:
        """Seed of everything random."""
        return self.runtime.seed

    @property
    def pace(self) -> Pace | None:
        """Batch size and memory layout with which the campaign was begun before; ``None`` if it is new."""
        layout = self.campaign.settings.get("layout")
        return None if layout is None else Pace(self.campaign.settings["batch_size"], layout)

    @property
    def basis(self) -> str:
        """Hash of everything that decides every job, as far as it is settled; empty if nothing is stored."""
        return job_basis(self._known, self.settings) if self._known else ""

    @cached_property
    def running(self) -> CampaignRun:
        """Runs plans through the engine and the store."""
        return CampaignRun(self.campaign, self.engine, self.store)

    @cached_property
    def models(self) -> list[nn.Module]:
        """The originals, trained first where there is only a recipe."""
        given, how = self.given, self.runtime
        if given.subject is not None:
            count = given.count(self.originals)
            train_at_once(self.running, given.subject, count, how.seed, how.device, how.folder, how.progress)
        models = given.originals(self.originals, how.seed, how.device, how.folder, how.progress)
        self._states = [ModelState.of(model) for model in models]
        return models

    @property
    def model(self) -> nn.Module:
        """The first original: the model under test."""
        return self.models[0]

    @cached_property
    def repeatable(self) -> bool:
        """Whether the model gives the same answers twice; an error if its forward pass writes to it."""
        found = determinism.repeats(self.model, self.given.data, self.given.forward)
        determinism.check_constant(self.model, self._states[0])
        return found

    def check_constant(self) -> None:
        """Raises an error if forward passes alone have changed a model."""
        determinism.check_all_constant(self.models, self._states)

    def check_untouched(self) -> None:
        """Raises an error if a model is not as it was; to be called before a result is returned."""
        if "models" in self.__dict__:
            check_untouched(self.models, self._states)

    def settle(self, **settings: Any) -> None:
        """Adds settings that were found out on the way, such as a measured batch size, and stores them."""
        self.settings |= settings
        self.running.settle(dict(self.settings))

    def expect(self, most: int) -> None:
        """States the largest number of jobs, for those who watch the campaign; after `settle`."""
        self.running.expect(most)

    def job(self, kind: str, arguments: Any = (), name: str = "", given: Any = None) -> Job:
        """A job of this campaign.

        Args:
            kind: Kind of work.
            arguments: Plain values that say exactly what; with `basis` they identify the job.
            name: Name for people.
            given: Large values that follow from the arguments.
        """
        return Job(kind, arguments, self.basis, name, given)

    def run(self, work: Work, plans: Iterable[Plan[Any]]) -> list[Any]:
        """What plans return; to be used in `Verb.prepare` for jobs whose values the state needs."""
        return self.running.run(work, plans)

    def stamp(self) -> dict[str, Any]:
        """What every result has: versions, the time it took, and when it was begun."""
        return {
            "versions": versions(),
            "seconds": time.monotonic() - self._start,
            "created": self.campaign.created,
        }
