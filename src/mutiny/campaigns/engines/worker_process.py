"""Worker processes as their parent sees them, and the file through which they get their work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO

from mutiny.campaigns.engines.base import unsendable
from mutiny.campaigns.engines.importable import search_path, strangers
from mutiny.campaigns.engines.job_loop import hear, settings
from mutiny.campaigns.engines.serialization import Part, pack, pack_work, receive, send, unpack, write_parts
from mutiny.campaigns.engines.worker import READY
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import BadInput

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class Died(Exception):
    """A worker ended by itself; the message tells how."""


class Shipment:
    """Work in a temporary file, for all workers to map.

    Where the system allows, the file has no name from the start, so that nothing is left of it whatever happens.
    """

    def __init__(self, work: Work) -> None:
        self.strangers: Sequence[ModuleType] = strangers(search_path())
        parts = pack_work(work, self.strangers)
        self._file = tempfile.NamedTemporaryFile(prefix="mutiny-", suffix=".work", delete=False)  # noqa: SIM115
        self.path = Path(self._file.name)
        try:
            write_parts(self._file.file, parts)
        except OSError as error:
            self.close()
            size = sum(memoryview(part).nbytes for part in parts)
            raise BadInput(
                "work", f"<{size / 1e6:.0f} MB>", f"room for it in {self.path.parent}",
                f"{error.strerror}. Point the variable TMPDIR to a folder with more room.",
            ) from error  # fmt: skip
        nameless = Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")
        if nameless.exists():
            self.path.unlink()
            self.path = nameless
        self.order = pack(("work", str(self.path), settings()))

    def close(self) -> bool:
        """Removes the file; false if a worker still keeps it from being removed."""
        self._file.close()
        try:
            Path(self._file.name).unlink(missing_ok=True)
        except PermissionError:
            return False
        return True


class Worker:
    """One process that does one job at a time.

    Attributes:
        busy: whether it may be in the middle of something.
    """

    def __init__(self, threads: int) -> None:
        path = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, str(threads)),
            **({} if path is None else {"MUTINY_PYTHONPATH": path}),
            "PYTHONPATH": os.pathsep.join(search_path()),
        }
        command = [sys.executable, "-P", "-m", "mutiny.campaigns.engines.worker", str(threads)]
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        except OSError as error:
            raise BadInput(
                "workers", "one more", "a process that the system starts", f"It says: {error.strerror}. Use fewer."
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._source: IO[bytes] = self._process.stdout
        self._sink: IO[bytes] = self._process.stdin
        self._greeted = False
        self._loaded: Shipment | None = None
        self.busy = False

    @property
    def alive(self) -> bool:
        """Whether it could do something."""
        return self._process.poll() is None

    def load(self, shipment: Shipment) -> None:
        """Gives it the work, unless it has it; raises `BadInput` if it cannot start or load, `Died` if it dies."""
        if not self._greeted:
            self._greet()
        if self._loaded is shipment:
            return
        self._loaded = None
        problem = unpack(self._ask(shipment.order))
        if problem is not None:
            raise BadInput("work", "...", "something that a worker process can load", f"There it fails: {problem}.")
        self._loaded = shipment

    def do(self, job: Job) -> JobResult:
        """Has it do a job; raises `Died` if it dies over it."""
        assert self._loaded is not None
        try:
            order = pack(("job", job), self._loaded.strangers)
        except Exception as error:
            return unsendable(job, error)
        return hear(job, self._ask(order))

    def kill(self) -> None:
        """Ends it at once."""
        self._process.kill()

    def bury(self) -> None:
        """Waits for its end and closes its pipes."""
        self.kill()
        self._process.wait()
        for pipe in (self._sink, self._source):
            with suppress(OSError):  # what was not sent any more
                pipe.close()

    def _greet(self) -> None:
        word = self._source.readline().decode(errors="replace").strip()
        if not word:
            raise Died(self._end())
        if word != READY:
            raise BadInput("engine", "processes", "worker processes that start", f"They fail with {word}.")
        self._greeted = True

    def _ask(self, order: Sequence[Part]) -> list[Part]:
        try:
            send(self._sink, order)
            return receive(self._source)
        except (EOFError, OSError) as error:
            raise Died(self._end()) from error

    def _end(self) -> str:
        try:
            return how_it_ended(self._process.wait(timeout=5))
        except subprocess.TimeoutExpired:
            return "it closed its output"


def how_it_ended(code: int) -> str:
    """A return code in words.

    >>> how_it_ended(-9), how_it_ended(3)
    ('killed by signal 9 (SIGKILL; perhaps out of memory)', 'it ended with exit code 3')
    """
    if code >= 0:
        return f"it ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = "unknown"
    return f"killed by signal {-code} ({name}{'; perhaps out of memory' if name == 'SIGKILL' else ''})"
