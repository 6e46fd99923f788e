"""What the jobs of an assessment cost: seconds of work, seconds of the driver, bytes."""

from __future__ import annotations

import csv
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from statistics import median

import mutiny
from mutiny.campaigns.engines.base import attempt
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.engines.serialization import Part, pack, pack_work, read_work, write_parts
from mutiny.campaigns.engines.worker_messages import pack_result
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.reports.files import replacing
from mutiny.subjects import Subject

FRESH = 13
"""Every so many jobs, one is run again on a fresh copy of the work, as a worker runs its first job."""

KEPT = "SELECT avg(length(body)) FROM results JOIN tasks ON task = number WHERE kind = 'faults'"


@dataclass(frozen=True)
class FaultJob:
    """A job that was measured: it finds the faults of one operator on one original with one random choice.

    Attributes:
        operator: Label of the operator; empty for a harmless change.
        original: Number of the original.
        choice: Number of the random choice.
        faults: Faults that were kept.
        seconds: Processor seconds of the work, with one thread.
        driver: Processor seconds of the driver to begin the job, store its result and continue the plan.
        sent: Bytes of the job as it is sent.
        returned: Bytes of its result as it is sent back.
    """

    operator: str
    original: int
    choice: int
    faults: int
    seconds: float
    driver: float
    sent: int
    returned: int


@dataclass(frozen=True)
class AssessmentCosts:
    """What an assessment costs apart from its jobs. Seconds are those of a processor.

    Attributes:
        measured: Date of the measurement.
        subject: What was assessed, in words.
        clean: Seconds of the slowest clean pass of an original over one set of inputs.
        passes: Number of clean passes.
        preflight: Seconds of the slowest pre-flight of an original.
        checked: Number of originals, each of which has a pre-flight.
        planning: Seconds of the driver per job, before the first job is handed out.
        first: Seconds that the first job of a worker takes longer than later ones.
        loading: Seconds in which a worker loads networks, data and clean passes that it has received.
        work: Bytes of networks, data and clean passes.
        kept: Bytes of the result of a job in the store, checksum and name included.
        file: Bytes of the store when the campaign is done.
    """

    measured: str
    subject: str
    clean: float
    passes: int
    preflight: float
    checked: int
    planning: float
    first: float
    loading: float
    work: int
    kept: float
    file: int


class Measuring(Serial):
    """Runs jobs in this process, and measures what they would cost elsewhere."""

    def __init__(self) -> None:
        self.jobs: list[FaultJob] = []
        self.clean: list[float] = []
        self.preflight: list[float] = []
        self.first: list[float] = []
        self.loading: list[float] = []
        self.planning = 0.0
        self.work = 0

    def run(self, work: Work, jobs: Iterable[Job | None]) -> Iterator[JobResult]:
        """As `Serial` does."""
        parts = pack_work(work)
        self.work = size(parts)
        with tempfile.NamedTemporaryFile() as file:
            write_parts(file, parts)
            del parts
            yield from self._measured(work, iter(jobs), file.name)

    def _measured(self, work: Work, jobs: Iterator[Job | None], copy: str) -> Iterator[JobResult]:
        job = next(jobs, None)
        while job is not None:
            start = time.process_time()
            result = attempt(work, job)
            end = time.process_time()
            sent, returned = size(pack(("job", job))), size(pack_result(result))
            if job.kind == "faults" and len(self.jobs) % FRESH == 0:
                self._on_a_fresh_copy(copy, job)
            resumed = time.process_time()
            yield result
            following = next(jobs, None)
            if job.kind == "preflight":
                self.preflight.append(end - start)
                self.planning = time.process_time() - resumed  # after the last one, the plan asks for all faults
            elif job.kind == "faults":
                took, faults = time.process_time() - resumed, len(getattr(result.value, "faults", ()))
                operator, original, choice = job.arguments
                self.jobs.append(FaultJob(operator, original, choice, faults, end - start, took, sent, returned))
            else:
                self.clean.append(end - start)
            job = following

    def _on_a_fresh_copy(self, copy: str, job: Job) -> None:
        start = time.process_time()
        work = read_work(copy)
        loaded = time.process_time()
        attempt(work, job)
        once = time.process_time()
        attempt(work, job)
        self.loading.append(loaded - start)
        self.first.append((once - loaded) - (time.process_time() - once))


def today() -> str:
    """The date, as pages show it."""
    return time.strftime("%Y-%m-%d")


def size(parts: Sequence[Part]) -> int:
    """Bytes of a message."""
    return sum(memoryview(part).nbytes for part in parts)


def measure(
    subject: Subject, words: str, originals: int, seeds: int, operators: str | None = None
) -> tuple[AssessmentCosts, list[FaultJob]]:
    """Assesses a subject with a store, in this process.

    Args:
        subject: Subject.
        words: What it is, for the page.
        originals: Number of originals.
        seeds: Random choices per operator and original.
        operators: Operators; all by default.
    """
    measuring = Measuring()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.mutiny"
        mutiny.assess(subject, operators, engine=measuring, store=file, originals=originals, seeds=seeds)
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as store:
            (kept,) = store.execute(KEPT).fetchone()
        total = file.stat().st_size
    costs = AssessmentCosts(
        measured=today(),
        subject=words,
        clean=max(measuring.clean),
        passes=len(measuring.clean),
        preflight=max(measuring.preflight),
        checked=len(measuring.preflight),
        planning=measuring.planning / len(measuring.jobs),
        first=max(0.0, median(measuring.first)),
        loading=median(measuring.loading),
        work=measuring.work,
        kept=kept,
        file=total,
    )
    return costs, measuring.jobs


def write_jobs(path: Path, jobs: Sequence[FaultJob]) -> None:
    """One row per job."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(field.name for field in fields(FaultJob))
        for job in jobs:
            what, cost = (job.operator, job.original, job.choice, job.faults), (job.sent, job.returned)
            writer.writerow([*what, f"{job.seconds:.4f}", f"{job.driver:.6f}", *cost])


def read_jobs(path: Path) -> list[FaultJob]:
    """The jobs that `write_jobs` wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file)][1:]
    return [
        FaultJob(row[0], int(row[1]), int(row[2]), int(row[3]), float(row[4]), float(row[5]), int(row[6]), int(row[7]))
        for row in rows
    ]
