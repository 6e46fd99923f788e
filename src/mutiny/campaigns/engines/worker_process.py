"""Worker processes as seen by the engine, and the file that gives them their work."""

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
from mutiny.campaigns.engines.importable import search_path, unimportable
from mutiny.campaigns.engines.serialization import Part, pack, pack_work, receive, send, unpack, write_parts
from mutiny.campaigns.engines.worker_main import READY
from mutiny.campaigns.engines.worker_messages import torch_settings, unpack_result
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import BadInput

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class WorkerDied(Exception):
    """A worker process ended unexpectedly; the message is the reason."""


class WorkFile:
    """Work in a temporary file that all workers map.

    If the system allows it, the file is unlinked at once, so that nothing is left behind whatever happens.
    """

    def __init__(self, work: Work) -> None:
        self.unimportable: Sequence[ModuleType] = unimportable(search_path())
        parts = pack_work(work, self.unimportable)
        self._file = tempfile.NamedTemporaryFile(prefix="mutiny-", suffix=".work", delete=False)  # noqa: SIM115
        self.path = Path(self._file.name)
        try:
            write_parts(self._file.file, parts)
        except OSError as error:
            self.close()
            size = sum(memoryview(part).nbytes for part in parts)
            fix = f"{error.strerror}. Point the variable TMPDIR to a folder with more room."
            raise BadInput("work", f"<{size / 1e6:.0f} MB>", f"room for it in {self.path.parent}", fix) from error
        nameless = Path(f"/proc/{os.getpid()}/fd/{self._file.fileno()}")
        if nameless.exists():
            self.path.unlink()
            self.path = nameless
        self.message = pack(("work", str(self.path), torch_settings()))

    def close(self) -> bool:
        """Removes the file; returns false if a worker still uses it and the system refuses."""
        self._file.close()
        try:
            Path(self._file.name).unlink(missing_ok=True)
        except PermissionError:
            return False
        return True


class Worker:
    """A process that runs one job at a time.

    Attributes:
        busy: Whether it may be running a job.
    """

    def __init__(self, threads: int) -> None:
        path = os.environ.get("PYTHONPATH")
        environment = {
            **os.environ,
            **dict.fromkeys(THREADS, str(threads)),
            **({} if path is None else {"MUTINY_PYTHONPATH": path}),
            "PYTHONPATH": os.pathsep.join(search_path()),
        }
        command = [sys.executable, "-P", "-m", "mutiny.campaigns.engines.worker_main", str(threads)]
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
        self._loaded: WorkFile | None = None
        self.busy = False

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def load(self, work_file: WorkFile) -> None:
        """Sends the work, unless it is loaded; raises `BadInput` if that fails, `WorkerDied` if the process dies."""
        if not self._greeted:
            self._greet()
        if self._loaded is work_file:
            return
        self._loaded = None
        problem = unpack(self._ask(work_file.message))
        if problem is not None:
            raise BadInput("work", "...", "something that a worker process can load", f"There it fails: {problem}.")
        self._loaded = work_file

    def run(self, job: Job) -> JobResult:
        """Runs a job in the process; raises `WorkerDied` if the process dies."""
        assert self._loaded is not None
        try:
            message = pack(("job", job), self._loaded.unimportable)
        except Exception as error:
            return unsendable(job, error)
        return unpack_result(job, self._ask(message))

    def kill(self) -> None:
        """Kills the process."""
        self._process.kill()

    def close(self) -> None:
        """Kills the process, waits for its end and closes its pipes."""
        self.kill()
        self._process.wait()
        for pipe in (self._sink, self._source):
            with suppress(OSError):  # unsent bytes cannot be flushed
                pipe.close()

    def _greet(self) -> None:
        line = self._source.readline().decode(errors="replace").strip()
        if not line:
            raise WorkerDied(self._end())
        if line != READY:
            raise BadInput("engine", "processes", "worker processes that start", f"They fail with {line}.")
        self._greeted = True

    def _ask(self, message: Sequence[Part]) -> list[Part]:
        try:
            send(self._sink, message)
            return receive(self._source)
        except (EOFError, OSError) as error:
            raise WorkerDied(self._end()) from error

    def _end(self) -> str:
        try:
            return how_it_ended(self._process.wait(timeout=5))
        except subprocess.TimeoutExpired:
            return "it closed its output"


def how_it_ended(code: int) -> str:
    """Describes a return code.

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
