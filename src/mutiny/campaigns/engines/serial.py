"""Engine that runs one job after the other in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mutiny.campaigns.engines.base import Engine, attempt
from mutiny.campaigns.jobs import Job, JobResult, Work


class Serial(Engine):
    """Runs each job in this process: the default, and the reference for all other engines."""

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Runs a job whenever the next result is asked for."""
        for job in jobs:
            if job is None:  # no other job is running whose result it could wait for
                return
            yield attempt(work, job)

    def __repr__(self) -> str:
        return "Serial()"
