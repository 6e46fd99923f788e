"""Engine that runs jobs on a Ray cluster: https://docs.ray.io."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from types import ModuleType
from typing import Self

from mutiny.campaigns.engines.base import Engine, Intake
from mutiny.campaigns.engines.ray_join import TRUSTED, joined_cluster
from mutiny.campaigns.engines.ray_package import installed_ray
from mutiny.campaigns.engines.ray_start import private_cluster
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.checks import check_whole

LOCAL = "local"
"""Ray's word for a cluster that is started on this machine."""


class Ray(Engine):
    """Runs jobs on a Ray cluster: an existing one, or one that it starts on this machine and ends again.

    The work is put into the object store once, and each machine maps it once. The number of running calls is bounded.
    If workers or machines die, their jobs are retried elsewhere. Machines that join an existing cluster are used.

    A cluster that it starts listens on the loopback interface only, asks for a random token that only its own processes
    have, and has no dashboard. An existing cluster must be trusted: whoever controls it can run code in this process,
    and sees networks and data.

    Args:
        address: Address of a cluster, such as ``10.0.0.7:6379`` or ``auto``; by default the value of the variable
            ``RAY_ADDRESS``, or else a cluster on this machine.
        workers: Number of jobs that run at once; as many as the cluster has cores for by default.
        threads: Cores for each job.
        retries: Number of times that a job is retried after its worker died.
        batch: Largest number of short jobs in one call; long jobs are sent one by one.
    """

    threads: int

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        threads: int = 1,
        retries: int = 2,
        batch: int = 64,
    ) -> None:
        check_whole("workers", 1 if workers is None else workers)
        check_whole("threads", threads)
        check_whole("retries", retries, 0)
        check_whole("batch", batch)
        self.address, self.workers = address, workers
        self.threads: int = threads
        self.retries: int = retries
        self.batch: int = batch
        self._depth = 0
        self._cluster = ExitStack()

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Yields results as they come; each worker has one call, or two if jobs are short."""
        ray = self._connected()
        try:
            from mutiny.campaigns.engines.ray_calls import Calls

            calls = Calls(ray, work, self.workers, self.threads, self.retries, self.batch)
            intake = Intake(jobs)
            try:
                while calls.fill(intake):
                    yield from calls.results()
            finally:
                calls.end()
        finally:
            if not self._depth:
                self._cluster.close()

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._cluster.close()

    @property
    def trusted(self) -> str:
        """Sentence that says who must be trusted because jobs run on an existing cluster."""
        return "" if self._where == LOCAL else TRUSTED.format(address=self._where)

    @property
    def _where(self) -> str:
        return self.address or os.environ.get("RAY_ADDRESS") or LOCAL

    def _connected(self) -> ModuleType:
        ray = installed_ray()
        if not ray.is_initialized():
            cores = self.workers and self.workers * self.threads
            where = self._where
            self._cluster.enter_context(private_cluster(ray, cores) if where == LOCAL else joined_cluster(ray, where))
        return ray

    def __repr__(self) -> str:
        return f"Ray({self.address!r})" if self.address else "Ray()"
