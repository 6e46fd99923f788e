"""Runs plans on an engine and keeps their results in a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any

from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.campaigns.ownership import with_command, withdraw
from mutiny.campaigns.schedule import Plan, Schedule
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.core.errors import BadInput, Interrupted
from mutiny.core.interrupts import stop_requested


class CampaignRun:
    """A running campaign.

    Args:
        campaign: The campaign.
        engine: Engine that runs jobs; serial by default.
        store: Store that keeps results; in memory by default.
        stopping: Function that is called before each job; when it returns true, no further job is started.
    """

    def __init__(
        self,
        campaign: Campaign,
        engine: Engine | None = None,
        store: Store | None = None,
        stopping: Callable[[], bool] = stop_requested,
    ) -> None:
        self.engine, self.store, self.stopping = engine or Serial(), store or MemoryStore(), stopping
        self.campaign = with_command(replace(campaign, refused=""), self.store.command)
        self._new = all(known.id != campaign.id for known in self.store.campaigns())
        self._values = 0
        self.store.open(self.campaign)
        withdraw(self.store)

    def run(self, work: Work, plans: Iterable[Plan[Any]]) -> list[Any]:
        """The results of all plans, in their order. Jobs whose results are in the store are not run again."""
        schedule = Schedule(plans, self._known, self.store.forget)
        try:
            with closing(self.engine.run(work, self._begun(schedule))) as results:  # type: ignore[type-var]
                for result in results:
                    self.store.save(self.campaign.id, result)
                    self._values += result.failure is None
                    schedule.give(result)
        finally:
            schedule.close()
        if schedule.left:
            raise Interrupted(f"stopped with {schedule.left} of {len(schedule.results)} plans unfinished")
        return schedule.results

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Stores settings that were determined during the campaign, such as a measured batch size."""
        self.campaign = replace(self.campaign, settings=settings)
        self.store.open(self.campaign)

    def expect(self, most: int | None) -> None:
        """Stores the largest number of jobs that the campaign can have."""
        self.store.open(self.campaign, most)

    def finish(self, result: Any) -> None:
        """Stores the result of the campaign."""
        self.store.finish(self.campaign.id, result)

    def refuse(self, error: BadInput) -> None:
        """Drops the campaign if it is new and no job has ended with a value; otherwise stores the error in it.

        Neither is resumed: the same call would raise the same error.
        """
        if self._new and not self._values:
            self.store.drop(self.campaign.id)
        else:
            most = self.store.tally(self.campaign.id).most
            self.store.open(replace(self.campaign, refused=str(error)), most)

    def _begun(self, schedule: Schedule) -> Iterator[Job | None]:
        for job in schedule.jobs():
            if self.stopping():
                return
            if job is not None:
                self.store.begin(self.campaign.id, job)
            yield job

    def _known(self, job: Job) -> JobResult | None:
        kept = self.store.load(job)
        self.store.want(self.campaign.id, [job])  # so that jobs which another campaign has done count for this one
        return None if kept is None else JobResult(job, kept.given())


def run_here(plan: Plan[Any], work: Work) -> Any:
    """The result of a plan that runs in this process, without a store."""
    (result,) = CampaignRun(Campaign("", "", "")).run(work, [plan])
    return result
