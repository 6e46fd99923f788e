"""Session: one call of a verb, with its models, settings and jobs."""

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
from mutiny.campaigns.memo import first_settings, identifiers, identity_of, job_basis
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.runtime import Runtime
from mutiny.campaigns.schedule import Plan
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.core.errors import BadInput, StoreError
from mutiny.core.progress import Progress, Silent
from mutiny.core.results import now, versions
from mutiny.models.state import ModelState, check_untouched
from mutiny.subjects.data import Data
from mutiny.subjects.given import Given
from mutiny.subjects.inference.passes import Pace, check_all_constant, check_constant, repeats, settle
from mutiny.subjects.tasks import Task

if TYPE_CHECKING:
    from mutiny.campaigns.verb import Verb


class Session:
    """One call of a verb. It stays in the caller's process and is never sent to workers.

    Args:
        verb: Verb with its arguments.
        given: Model, data and task.
        runtime: Arguments that all verbs share, with engine and store open.

    Attributes:
        progress: Receiver of progress messages.
        settings: Settings so far: those of runtime and verb, and those that `settle` added.
        complete: Whether the result may be stored; a verb sets it to ``False`` if jobs failed and should be retried.
    """

    def __init__(self, verb: Verb[Any, Any], given: Given, runtime: Runtime) -> None:
        assert isinstance(runtime.engine, Engine)
        assert runtime.store is None or isinstance(runtime.store, Store)
        self.given, self.runtime, self.originals, self.complete = given, runtime, verb.originals, True
        self.engine, self.store = runtime.engine, runtime.store
        self.progress: Progress = runtime.progress or Silent()
        device = given.device(runtime.device)
        self.settings = first_settings(verb, runtime.seed, runtime.batch_size, device, runtime.threads)
        self._start = time.monotonic()
        self.campaign = Campaign("", verb.name, given.name, dict(self.settings), versions(), created=now())
        self._known = ""
        if self.store is not None:
            self._identify(self.store, verb)

    def _identify(self, store: Store, verb: Verb[Any, Any]) -> None:
        """Finds the campaign of this call in the store. Its id is a hash of everything that decides the result."""
        subject = identity_of(self.given, self.originals, self.runtime.seed, self.runtime.device)
        self._known, id_ = identifiers(verb, self.given, subject, self.settings)
        earlier = next((campaign for campaign in store.campaigns() if campaign.id == id_), None)
        self.campaign = replace(earlier or replace(self.campaign, id=id_), network=self._network(subject["originals"]))

    def _network(self, originals: list[str]) -> str:
        """Hash of the first original, by which reports tell whether two results are of the same network.

        Originals that each hold out a fold of the training set count as those of the same recipe without folds.
        """
        subject = self.given.subject
        if subject is None or subject.folds is None:
            return originals[0]
        return subject.holding_out(None).fingerprints(1, seed=self.runtime.seed, device=self.runtime.device)[0]

    @property
    def seed(self) -> int:
        """Seed of everything random."""
        return self.runtime.seed

    @property
    def pace(self) -> Pace | None:
        """Batch size and memory layout that the campaign used before; ``None`` if it is new."""
        layout = self.campaign.settings.get("layout")
        return None if layout is None else Pace(self.campaign.settings["batch_size"], layout)

    @property
    def basis(self) -> str:
        """Hash of everything that decides every job, with the settings so far; empty without a store."""
        return job_basis(self._known, self.settings) if self._known else ""

    @cached_property
    def running(self) -> CampaignRun:
        """The campaign of this call on its engine and store."""
        return CampaignRun(self.campaign, self.engine, self.store)

    @cached_property
    def models(self) -> list[nn.Module]:
        """The originals; they are trained first if the subject has only a recipe."""
        given, runtime = self.given, self.runtime
        how = runtime.seed, runtime.device, runtime.originals_folder, self.progress
        if given.subject is not None:
            train_at_once(self.running, given.subject, given.count(self.originals), *how)
        models = given.originals(self.originals, *how)
        self._states = [ModelState.of(model) for model in models]
        return models

    @property
    def model(self) -> nn.Module:
        """The first original: the model under test."""
        return self.models[0]

    @cached_property
    def repeatable(self) -> bool:
        """Whether the model gives the same outputs twice; raises an error if its forward pass changes it."""
        same = repeats(self.model, self.given.data, self.given.forward)
        check_constant(self.model, self._states[0])
        return same

    def settled_task(self, data: Data | None = None) -> Task:
        """The task with its kind of outputs resolved; raises an error if forward passes change a model.

        Args:
            data: Inputs whose outputs are inspected; those to examine by default.
        """
        given, inputs = self.given, self.given.data if data is None else data
        _ = self.repeatable  # before any other pass
        task = settle(given.task, self.models, inputs, given.forward, self.runtime.batch_size)
        self.check_constant()
        return task

    def check_constant(self) -> None:
        """Raises an error if forward passes alone have changed a model."""
        check_all_constant(self.models, self._states)

    def check_untouched(self) -> None:
        """Raises an error if a model was changed; called before a result is returned."""
        if "models" in self.__dict__:
            check_untouched(self.models, self._states)

    def settle(self, **settings: Any) -> None:
        """Adds settings that were determined during the campaign, such as a measured batch size, and stores them."""
        self.settings |= settings
        self.running.settle(dict(self.settings))

    def settle_pace(self, pace: Pace) -> None:
        """Adds batch size and memory layout to the settings and stores them."""
        self.settle(batch_size=int(pace.batch_size), layout=pace.layout)

    def expect(self, most: int) -> None:
        """Stores the largest number of jobs, for progress and status; call it after `settle`."""
        self.running.expect(most)

    def refuse(self, error: BadInput) -> None:
        """Leaves no campaign behind that would be resumed although its call was refused."""
        if "running" in self.__dict__ and not isinstance(error, StoreError):  # a store may be usable again
            self.running.refuse(error)

    def job(self, kind: str, arguments: Any = (), name: str = "", given: Any = None) -> Job:
        """A job of this campaign.

        Args:
            kind: Kind of work.
            arguments: Plain values that say exactly what to do; with `basis` they identify the job.
            name: Name for people.
            given: Large values that follow from the arguments.
        """
        return Job(kind, arguments, self.basis, name, given)

    def run(self, work: Work, plans: Iterable[Plan[Any]]) -> list[Any]:
        """Runs plans and returns their results; used in `Verb.prepare` for jobs whose values the state needs."""
        return self.running.run(work, plans)

    def stamp(self) -> dict[str, Any]:
        """Fields that every result has: versions, duration and creation time."""
        return {
            "versions": versions(),
            "seconds": time.monotonic() - self._start,
            "created": self.campaign.created,
        }
