"""Remote calls that run jobs on a Ray cluster."""

from __future__ import annotations

import math
import time
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from mutiny.campaigns.engines.base import SHORT, Intake, died, unsendable
from mutiny.campaigns.engines.importable import installed_path, unimportable
from mutiny.campaigns.engines.ray_node import Bytes, forget, serve, stored, writable
from mutiny.campaigns.engines.serialization import pack, pack_work
from mutiny.campaigns.engines.worker_messages import torch_settings, unpack_result
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import BadInput
from mutiny.core.results import versions

SECONDS = 0.1
"""Target duration of a call with several short jobs."""
BYTES = 1_000_000
"""Target size of a call with several small jobs."""
CENSUS = 5.0
"""Seconds between two queries of the cluster's size."""


@dataclass
class _PendingJob:
    """A job, the number of workers that died while it was alone in its call, and whether any worker died with it."""

    job: Job
    deaths: int = 0
    suspect: bool = False


class Calls:
    """Sends jobs, several per call if they are short, and sends them again if their worker died."""

    def __init__(
        self, ray: ModuleType, work: Work, workers: int | None, threads: int, retries: int, batch: int
    ) -> None:
        self._ray, self._workers, self._threads, self._retries, self._batch = ray, workers, threads, retries, batch
        self._unimportable = unimportable(installed_path())
        about = {"versions": versions(), "settings": torch_settings(), "threads": threads}
        self._work = ray.put((about, [stored(part) for part in pack_work(work, self._unimportable)]))
        self._key = uuid.uuid4().hex
        self._remote = ray.remote(_call).options(num_cpus=threads, max_retries=0)
        self._waiting: deque[_PendingJob] = deque()
        self._ready: deque[JobResult] = deque()
        self._calls: dict[Any, list[_PendingJob]] = {}
        self._seconds: dict[str, float] = {}
        self._limit, self._asked = 0, -math.inf

    def fill(self, intake: Intake) -> bool:
        """Sends as many calls as there is room for; returns false if there is nothing to wait for."""
        room = self._room()
        most = max((self._size(kind) for kind in self._seconds), default=1)
        self._waiting.extend(_PendingJob(job) for job in intake.take(max(0, room * most - len(self._waiting))))
        while self._waiting and room > 0:
            self._send(math.ceil(len(self._waiting) / room))
            room -= 1
        return bool(self._calls or self._ready)

    def results(self) -> Iterator[JobResult]:
        """Yields the available results: at least one, unless all finished calls must be retried."""
        if not self._ready:
            self._ray.wait(list(self._calls), num_returns=1, timeout=CENSUS)
            done, _ = self._ray.wait(list(self._calls), num_returns=len(self._calls), timeout=0)
            for call in done:
                self._take(call, self._calls.pop(call))
        while self._ready:
            yield self._ready.popleft()

    def end(self) -> None:
        """Cancels running calls."""
        for call in self._calls:
            self._ray.cancel(call, force=True)
        forget(self._key)

    def _room(self) -> int:
        if time.monotonic() > self._asked + CENSUS:
            self._asked = time.monotonic()
            fit = int(self._ray.cluster_resources().get("CPU", 0) // self._threads)
            self._limit = max(1, min(fit, self._workers or fit))
        short = bool(self._seconds) and max(self._seconds.values()) < SHORT
        return (2 if short else 1) * self._limit - len(self._calls)

    def _size(self, kind: str) -> int:
        """Number of jobs of this kind per call; 1 until their duration is known."""
        return max(1, min(self._batch, int(SECONDS / max(self._seconds.get(kind, math.inf), 1e-6))))

    def _send(self, share: int) -> None:
        """Sends one call with the next jobs of one kind, at most ``share`` of them."""
        pending: list[_PendingJob] = []
        packed: list[list[Bytes]] = []
        size = min(share, self._size(self._waiting[0].job.kind))
        weight = 0
        while self._waiting and len(pending) < size and weight < BYTES:
            entry = self._waiting[0]
            if pending and (entry.suspect or pending[0].suspect or entry.job.kind != pending[0].job.kind):
                break
            self._waiting.popleft()
            try:
                parts = [stored(part) for part in pack(entry.job, self._unimportable)]
            except Exception as error:
                self._ready.append(unsendable(entry.job, error))
                continue
            pending.append(entry)
            packed.append(parts)
            weight += sum(part.nbytes for part in parts)
        if pending:
            self._calls[self._remote.remote([self._work], self._key, packed, SECONDS)] = pending

    def _take(self, call: Any, pending: list[_PendingJob]) -> None:
        """Takes the results of a finished call; jobs that it has not run are queued again."""
        errors = self._ray.exceptions
        try:
            answer = self._ray.get(call)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as error:
            self._retry(pending, str(error).strip().splitlines()[0].partition(". ")[0].rstrip("."))
            return
        except errors.RayError as error:
            cause = str(error).strip().splitlines()[-1]
            expected = "a cluster whose machines all have mutiny in the same version"
            raise BadInput("engine", "ray", expected, f"A call failed: {cause}") from error
        if isinstance(answer, str):
            raise BadInput("engine", "ray", "a cluster whose machines can all do the work", f"On one {answer}.")
        for entry, parts in zip(pending, answer, strict=False):
            result = unpack_result(entry.job, writable(parts))
            longest = max(result.seconds, 0.9 * self._seconds.get(entry.job.kind, 0.0))
            self._seconds[entry.job.kind] = longest
            self._ready.append(result)
        self._waiting.extendleft(reversed(pending[len(answer) :]))

    def _retry(self, pending: Sequence[_PendingJob], reason: str) -> None:
        for entry in reversed(pending):
            entry.suspect = True
            entry.deaths += len(pending) == 1
            if entry.deaths <= self._retries:
                self._waiting.appendleft(entry)
            else:
                self._ready.append(died(entry.job, entry.deaths, reason))


def _call(box: list[Any], key: str, jobs: list[list[Bytes]], seconds: float) -> str | list[list[Bytes]]:
    import ray

    return serve(key, lambda: ray.get(box[0]), jobs, seconds)
