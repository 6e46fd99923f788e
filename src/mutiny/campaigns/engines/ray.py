"""Engine that runs jobs on a Ray cluster: https://docs.ray.io."""

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
"""Ray's default niceness, 15, starves its workers if the machine has other work."""


class Ray(Engine):
    """Runs jobs on a Ray cluster: an existing one, or one that it starts on this machine and ends again.

    The work is put into the object store once, and each machine maps it once. The number of running calls is bounded.
    If workers or machines die, their jobs are retried elsewhere. Machines that join are used.

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
        self._started = False

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Yields results as they come; each worker has one call, or two if jobs are short."""
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
            if not self._depth:
                self._leave()

    def __enter__(self) -> Self:
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
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
            with kept_signal_handlers():
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
    """The reason why an address with a port cannot be reached; empty if it can.

    Checked before Ray connects, because Ray would wait without reacting to Ctrl-C.

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
def kept_signal_handlers() -> Iterator[None]:
    """Restores the handlers of SIGINT and SIGTERM on leaving, because ``ray.init`` replaces them."""
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
    """The first sentence of Ray's error message; the rest is advice for its operators.

    >>> first_sentence(ConnectionError("Failed to connect to it. Please check that ..."))
    'ConnectionError: Failed to connect to it'
    """
    text = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {text}"
