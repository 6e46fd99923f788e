"""Base class of engines, and results of jobs that failed."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Self

from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import MutinyError


class Engine(ABC):
    """Runs jobs. An author writes one method, `run`.

    Results are yielded as soon as they are available, in any order. An exception in a job is a result, not an
    exception of `run`. The same jobs give the same results on every engine.

    Inside ``with engine:``, an engine may keep what is costly to start, such as worker processes, between calls of
    `run`.

    Attributes:
        threads: Torch threads of each worker; ``None`` if jobs run in this process.
    """

    threads: int | None = None

    @abstractmethod
    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Yields one result for each job.

        The engine takes a job from ``jobs`` only when a worker has room for it. ``None`` means that the next job
        depends on results that are not available yet: the engine asks again after its next result. If no job is
        running then, no result can follow, and the engine returns.

        Closing the iterator cancels running jobs and leaves no process behind.
        """

    @property
    def trusted(self) -> str:
        """Sentence that says who must be trusted because jobs leave this machine; empty if they do not."""
        return ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027, most engines keep nothing
        """Ends what the engine has kept since ``with engine:``."""


SHORT = 1.0
"""Seconds below which a job counts as short. A worker with short jobs gets its next job in advance; with long jobs the
pause between two jobs does not matter, and a job that waits would still be started after Ctrl-C."""


class Intake:
    """Takes jobs from an iterable as there is room for them, for engines that run several jobs at once.

    >>> intake = Intake([Job("a"), None, Job("b"), Job("c")])
    >>> [str(job) for job in intake.take(2)], [str(job) for job in intake.take(1)]
    (['a []'], ['b []'])
    """

    def __init__(self, jobs: Iterable[Job | None]) -> None:
        self._jobs = iter(jobs)

    def take(self, room: int) -> Iterator[Job]:
        """At most ``room`` jobs; fewer if there are no more, or if the next one depends on a result."""
        for _ in range(room):
            job = next(self._jobs, None)
            if job is None:
                return
            yield job


def attempt(work: Work, job: Job) -> JobResult:
    """Runs a job in this process; an exception becomes the failure of its result."""
    start = time.perf_counter()
    try:
        return JobResult(job, work(job), time.perf_counter() - start)
    except (Exception, SystemExit) as error:  # the user's code may call sys.exit, which must not end the campaign
        return failed(job, error, time.perf_counter() - start)


def failed(job: Job, error: BaseException, seconds: float = 0.0) -> JobResult:
    """The result of a job that raised ``error``."""
    meant = error if isinstance(error, MutinyError) else None
    return JobResult(job, seconds=seconds, failure=reason_of(error), error=meant)


def unsendable(job: Job, error: Exception) -> JobResult:
    """The result of a job that could not be serialized."""
    return JobResult(job, failure=f"the job cannot be sent to another process: {type(error).__name__}: {error}")


def died(job: Job, times: int, reason: str) -> JobResult:
    """The result of a job whose worker died ``times`` times, the last time for this ``reason``.

    >>> died(Job("probe"), 2, "killed by signal 9").failure
    'the worker died 2 times: killed by signal 9'
    """
    return JobResult(job, failure=f"the worker died {times} time{'s' * (times > 1)}: {reason}")


def reason_of(error: BaseException) -> str:
    """The exception, its message and its place in the code, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
