"""Engine that runs jobs in several processes on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import Self

from mutiny.campaigns.engines.base import SHORT, Engine, Intake, died
from mutiny.campaigns.engines.worker_process import Worker, WorkerDied, WorkFile
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput


class Processes(Engine):
    """Runs jobs in worker processes that share the memory of models and data.

    A worker that dies, from a signal or from lack of memory, is replaced, and its job is retried.

    Args:
        workers: Number of processes; as many as there are cores for by default.
        threads: Torch threads of each worker.
        retries: Number of times that a job is retried after its worker died.

    >>> with Processes(1) as engine:
    ...     [result.value for result in engine.run(lambda job: job.kind.upper(), [Job("a"), Job("b")])]
    ['A', 'B']
    """

    threads: int

    def __init__(self, workers: int | None = None, threads: int = 1, retries: int = 2) -> None:
        check_whole("workers", 1 if workers is None else workers)
        check_whole("threads", threads)
        check_whole("retries", retries, 0)
        self.workers: int | None = workers
        self.threads: int = threads
        self.retries: int = retries
        self._idle: list[Worker] | None = None
        self._depth = 0
        self._unremoved: list[WorkFile] = []

    @property
    def size(self) -> int:
        """Largest number of processes."""
        return self.workers or max(1, _cores() // self.threads)

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """Yields results as they come; each worker has one job, or two if jobs are short."""
        intake = Intake(jobs)
        work_file = WorkFile(work)
        pool = _WorkerPool(self, work_file)
        under_way, ahead = 0, 1
        try:
            while True:
                for job in intake.take(ahead * self.size - under_way):
                    pool.give(job)
                    under_way += 1
                if not under_way:
                    return
                result = pool.result()
                under_way -= 1
                ahead = 2 if result.seconds < SHORT else 1
                yield result
        finally:
            self._keep_or_end(pool.end())
            if not work_file.close():
                self._unremoved.append(work_file)

    def take_worker(self) -> Worker:
        """An idle worker, or a new one."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
            worker.close()
        return Worker(self.threads)

    def __enter__(self) -> Self:
        self._depth += 1
        if self._idle is None:
            self._idle = []
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if self._depth:  # an outer ``with`` keeps the workers
            return
        idle, self._idle = self._idle, None
        self._keep_or_end(idle or [])
        self._unremoved = [work_file for work_file in self._unremoved if not work_file.close()]

    def _keep_or_end(self, workers: list[Worker]) -> None:
        if self._idle is not None:
            self._idle += workers
            return
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.close()

    def __repr__(self) -> str:
        return f"Processes({self.size})"


class _WorkerPool:
    """The workers of one call of `Processes.run`, each with a thread that sends it jobs."""

    def __init__(self, engine: Processes, work_file: WorkFile) -> None:
        self._engine, self._work_file = engine, work_file
        self._inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._outbox: SimpleQueue[JobResult | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._workers: set[Worker] = set()
        self._lock = threading.Lock()
        self._ended = False

    def give(self, job: Job) -> None:
        """Queues a job, and starts another worker unless there are enough."""
        self._inbox.put(job)
        if len(self._threads) < self._engine.size:
            thread = threading.Thread(target=self._run_jobs, name="mutiny worker", daemon=True)
            self._threads.append(thread)
            thread.start()

    def result(self) -> JobResult:
        """The next result; raises the error if a worker could not start."""
        while True:
            try:
                result = self._outbox.get(timeout=1)  # on some systems Ctrl-C is noticed only between two waits
            except Empty:
                continue
            if isinstance(result, BaseException):
                raise result
            return result

    def end(self) -> list[Worker]:
        """Ends the workers that have a job, and returns the idle ones."""
        with self._lock:
            self._ended = True
            for worker in self._workers:
                if worker.busy:
                    worker.kill()
        for _ in self._threads:
            self._inbox.put(None)
        for thread in self._threads:
            thread.join()
        return list(self._workers)

    def _run_jobs(self) -> None:
        worker: Worker | None = None
        try:
            while (job := self._inbox.get()) is not None:
                worker, result = self._run(job, worker)
                self._outbox.put(result)
        except _Ended:
            return
        except BaseException as error:
            self._outbox.put(error)

    def _run(self, job: Job, worker: Worker | None) -> tuple[Worker | None, JobResult]:
        loaded, reason = False, ""
        for _ in range(self._engine.retries + 1):
            worker = self._busy_worker(worker)
            try:
                worker.load(self._work_file)
                loaded = True
                result = worker.run(job)
            except BaseException as error:
                self._drop(worker)
                worker = None
                if not isinstance(error, WorkerDied):
                    raise
                reason = str(error)
            else:
                with self._lock:
                    worker.busy = False
                return worker, result
        times = self._engine.retries + 1
        if not loaded:
            expected = "worker processes that live long enough to load the work"
            raise BadInput("engine", repr(self._engine), expected, f"{times} died before: {reason}.")
        return None, died(job, times, reason)

    def _busy_worker(self, worker: Worker | None) -> Worker:
        """The worker, or a new one, marked as busy so that `end` ends it; raises `_Ended` after `end`."""
        with self._lock:
            if self._ended:
                raise _Ended
            if worker is None:
                worker = self._engine.take_worker()
                self._workers.add(worker)
            worker.busy = True
            return worker

    def _drop(self, worker: Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.close()


class _Ended(Exception):
    """The run is over."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
