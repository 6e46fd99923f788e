"""Store in memory, for calls without a file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.stores.base import Campaign, CampaignTally, Failed, Kept, Store, reopened
from mutiny.core.errors import BadInput


@dataclass
class _JobEntry:
    kind: str
    name: str
    kept: Kept | None = None
    seconds: float = 0.0
    failure: str | None = None


@dataclass
class _CampaignEntry:
    campaign: Campaign
    most: int | None = None
    attempts: Counter[str] = field(default_factory=Counter)
    finished: bool = False
    outcome: Any = None


class MemoryStore(Store):
    """Keeps campaigns in the memory of this process.

    >>> with MemoryStore() as store:
    ...     store.open(Campaign("c1", "assess", "digits"))
    ...     store.begin("c1", Job("probe", ("WI", 0.25), name="WI at 0.25"))
    ...     store.tally("c1").begun
    ('WI at 0.25',)
    """

    def __init__(self) -> None:
        self._campaigns: dict[str, _CampaignEntry] = {}
        self._jobs: dict[str, _JobEntry] = {}

    def open(self, campaign: Campaign, most: int | None = None) -> None:
        """Starts a campaign, or continues it."""
        running = self._campaigns[campaign.id] = self._campaigns.pop(campaign.id, _CampaignEntry(campaign))
        running.campaign = reopened(running.campaign, campaign)
        running.most = most

    def drop(self, campaign: str) -> None:
        """Drops a campaign and its result, and planned jobs without a value that no other campaign wants."""
        dropped = self._running(campaign)
        del self._campaigns[campaign]
        for job in dropped.attempts:
            if self._jobs[job].kept is None and not any(job in other.attempts for other in self._campaigns.values()):
                del self._jobs[job]

    def campaigns(self) -> list[Campaign]:
        """All campaigns, in the order in which they were last opened."""
        return [running.campaign for running in self._campaigns.values()]

    def begin(self, campaign: str, job: Job) -> None:
        """Records that a job is planned and started; with ``afresh``, drops its result."""
        self.want(campaign, [job])
        self._running(campaign).attempts[job.id] += 1
        known = self._jobs[job.id]
        known.failure = None
        if job.afresh:
            known.kept = None

    def want(self, campaign: str, jobs: Iterable[Job]) -> None:
        """Records that jobs are planned."""
        running = self._running(campaign)
        for job in jobs:
            self._jobs.setdefault(job.id, _JobEntry(job.kind, str(job)))
            running.attempts[job.id] += 0

    def save(self, campaign: str, result: JobResult) -> None:
        """Keeps a value, with the scratch of a `WithScratch`, or a failure unless the job has a value already."""
        self.want(campaign, [result.job])
        known = self._jobs[result.job.id]
        if result.failure is None:
            known.kept, known.seconds, known.failure = Kept.of(result.value), result.seconds, None
        elif known.kept is None:
            known.failure = result.failure

    def load(self, job: Job) -> Kept | None:
        """The stored value of a job; ``None`` if there is none."""
        known = self._jobs.get(job.id)
        return known.kept if known else None

    def forget(self, jobs: Iterable[Job]) -> None:
        """Drops the scratch of jobs; `load` then reports it as forgotten."""
        for job in jobs:
            known = self._jobs.get(job.id)
            if known and known.kept:
                kept = known.kept
                known.kept = Kept(kept.value, None, kept.forgotten or kept.scratch is not None)

    def finish(self, campaign: str, value: Any) -> None:
        """Keeps the result of a campaign."""
        running = self._running(campaign)
        running.finished, running.outcome = True, value

    def outcome(self, campaign: str) -> Any:
        """The result of a campaign; ``None`` if it has none."""
        return self._campaigns[campaign].outcome if campaign in self._campaigns else None

    def tally(self, campaign: str) -> CampaignTally:
        """Progress of a campaign."""
        running = self._running(campaign)
        mine = [(key, known) for key, known in self._jobs.items() if key in running.attempts]
        seconds: defaultdict[str, float] = defaultdict(float)
        for _, known in mine:
            if known.kept is not None:
                seconds[known.kind] += known.seconds
        open_ = [(key, known) for key, known in mine if known.kept is None and known.failure is None]
        return CampaignTally(
            done=dict(Counter(known.kind for _, known in mine if known.kept is not None)),
            seconds=dict(seconds),
            waiting=dict(Counter(known.kind for _, known in open_)),
            begun=tuple(known.name for key, known in open_ if running.attempts[key]),
            failed=tuple(Failed(known.name, known.failure) for _, known in mine if known.failure is not None),
            attempts=running.attempts.total(),
            most=running.most,
            finished=running.finished,
        )

    def close(self) -> None:
        """Nothing to do."""

    def _running(self, campaign: str) -> _CampaignEntry:
        if campaign not in self._campaigns:
            raise BadInput("campaign", campaign, "one of the store's", "Open it first.")
        return self._campaigns[campaign]
