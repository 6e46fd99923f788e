"""One job after the other, in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mutiny.campaigns.engines.base import Engine, attempt
from mutiny.campaigns.jobs import Job, JobResult, Work


class Serial(Engine):
    """Runs each job here and now: the default, and what all other engines must agree with."""

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """One result after each job."""
        for job in jobs:
            if job is None:  # nothing is under way here, so nothing will change
                return
            yield attempt(work, job)

    def __repr__(self) -> str:
        return "Serial()"
