"""A cluster, by Ray: https://docs.ray.io."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Self

from mutiny.campaigns.engines.base import Engine, Intake
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, MissingExtra

TOKEN = (
    "If the cluster asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token, or RAY_AUTH_TOKEN_PATH "
    "to a file that holds it; `ray get-auth-token` shows it on a machine that has it."
)

QUICK = {"worker_niceness": 0}
"""Ray's own value, 15, starves the workers of a machine that does something else too."""


class Ray(Engine):
    """Runs jobs on a Ray cluster: one that it starts on this machine and ends again, or one that is there.

    The work goes into the object store once, each machine maps it once, and a bounded number of calls is under way.
    Workers and machines may die: their jobs are tried again elsewhere. Machines that join are used.

    Args:
        address: of a cluster, such as ``10.0.0.7:6379`` or ``auto``; by default what the variable ``RAY_ADDRESS``
            says, or else a cluster on this machine.
        workers: how many jobs run at once; by default as many as the cluster has cores for.
        threads: cores for each job.
        retries: how often a job whose worker died is tried again before it counts as failed.
        batch: how many short jobs one call may carry; those that take long are always sent one by one.
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
        self._stays = 0
        self._started = False

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Results as they come; one call per worker is under way, or two while jobs are short."""
        ray = self._joined()
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
            if not self._stays:
                self._leave()

    def __enter__(self) -> Self:
        self._stays += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._stays -= 1
        if not self._stays:
            self._leave()

    def _joined(self) -> ModuleType:
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("ray", "ray") from error
        if ray.is_initialized():
            return ray
        address = self.address or os.environ.get("RAY_ADDRESS") or "local"
        if reason := unreachable(address):
            raise BadInput("address", repr(address), "a Ray cluster that can be reached", f"{reason}.")
        local: dict[str, Any] = {
            "num_cpus": self.workers and self.workers * self.threads,
            "include_dashboard": False,
            "_system_config": QUICK,
        }
        try:
            with own_signals():
                more = local if address == "local" else {}
                ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **more)
        except Exception as error:
            raise BadInput(
                "address", repr(address), "a Ray cluster that can be joined", f"{first_sentence(error)}. {TOKEN}"
            ) from error
        self._started = True
        return ray

    def _leave(self) -> None:
        if self._started:
            import ray

            self._started = False
            ray.shutdown()

    def __repr__(self) -> str:
        return f"Ray({self.address!r})" if self.address else "Ray()"


def unreachable(address: str, seconds: float = 5.0) -> str:
    """Why nobody answers at an address with a port, or nothing: Ray itself would wait, and not hear Ctrl-C meanwhile.

    >>> unreachable("auto"), unreachable("127.0.0.1:1")
    ('', 'Connection refused')
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return ""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), seconds):
            return ""
    except OSError as error:
        return str(error.strerror or error).capitalize()
    except OverflowError:
        return "There is no such port"


@contextmanager
def own_signals() -> Iterator[None]:
    """Afterwards SIGTERM and SIGINT do what they did before, whatever was installed meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def first_sentence(error: BaseException) -> str:
    """What Ray says first about an error; the rest is advice for those who run it.

    >>> first_sentence(ConnectionError("Failed to connect to it. Please check that ..."))
    'ConnectionError: Failed to connect to it'
    """
    text = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {text}"
