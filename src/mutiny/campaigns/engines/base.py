"""What an engine is."""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Self

from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import MutinyError


class Engine(ABC):
    """Runs jobs, here or elsewhere. An author writes one method, `run`.

    Results come in any order, each as soon as it is there. Work never raises: a failure is a result. The same jobs
    give the same results on every engine.

    ``with engine:`` lets it keep what is costly to start, such as worker processes, from one `run` to the next.

    Attributes:
        threads: of torch in each worker; ``None`` where work is done in this process, with the threads it has.
    """

    threads: int | None = None

    @abstractmethod
    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Yields one result for each job.

        ``jobs`` is asked for the next one only when there is room for it. It gives ``None`` where the next job
        depends on results that are not there yet: the engine then asks again after its next result. If nothing is
        under way when ``None`` comes, no result ever will, and the engine ends.

        Closing the iterator abandons what is under way and leaves no process behind.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:  # noqa: B027, most engines keep nothing
        """Lets go of what it kept."""


SHORT = 1.0
"""Seconds below which a worker has its next job waiting; beyond, the pause between two does not count, and a job that
waits would be begun after Ctrl-C."""


class Intake:
    """Takes jobs from an iterable as there is room for them, for engines with several under way.

    >>> intake = Intake([Job("a"), None, Job("b"), Job("c")])
    >>> [str(job) for job in intake.take(2)], [str(job) for job in intake.take(1)]
    (['a []'], ['b []'])
    """

    def __init__(self, jobs: Iterable[Job | None]) -> None:
        self._jobs = iter(jobs)

    def take(self, room: int) -> Iterator[Job]:
        """The next jobs, at most ``room``: fewer if they end or if the next one waits for a result."""
        for _ in range(room):
            job = next(self._jobs, None)
            if job is None:
                return
            yield job


def attempt(work: Work, job: Job) -> JobResult:
    """Does a job here; whatever it raises becomes its failure."""
    start = time.perf_counter()
    try:
        return JobResult(job, work(job), time.perf_counter() - start)
    except (Exception, SystemExit) as error:  # code that was given may end itself; that does not end the campaign
        return failed(job, error, time.perf_counter() - start)


def failed(job: Job, error: BaseException, seconds: float = 0.0) -> JobResult:
    """The result of a job that raised ``error``."""
    meant = error if isinstance(error, MutinyError) else None
    return JobResult(job, seconds=seconds, failure=reason_of(error), error=meant)


def unsendable(job: Job, error: Exception) -> JobResult:
    """The result of a job that could not be packed."""
    return JobResult(job, failure=f"the job cannot be sent to another process: {type(error).__name__}: {error}")


def died(job: Job, times: int, how: str) -> JobResult:
    """The result of a job over which so many workers died, the last one in this way.

    >>> died(Job("probe"), 2, "killed by signal 9").failure
    'the worker died 2 times: killed by signal 9'
    """
    return JobResult(job, failure=f"the worker died {times} time{'s' * (times > 1)}: {how}")


def reason_of(error: BaseException) -> str:
    """What was raised and where, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}{place}" if text else f"{type(error).__name__}{place}"
