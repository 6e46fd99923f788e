"""What a worker does, wherever it is: takes work once, then jobs, and tells what became of them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from mutiny.campaigns.engines.base import attempt, failed, reason_of
from mutiny.campaigns.engines.serialization import Part, pack, read_work, unpack
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.errors import MutinyError


class Desk:
    """Answers orders: ``("work", path, settings)`` and ``("job", job)``."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        self._work: Work | None = None
        self._path: Path | None = None

    def answer(self, order: Sequence[Part]) -> list[Part]:
        """For work ``None``, or why it could not be loaded; for a job what `hear` understands."""
        try:
            what, *details = unpack(order)
        except BaseException as error:  # only jobs can fail here: a class that this process does not have
            return tell(failed(Job("unknown"), error))
        if what == "job":
            assert self._work is not None
            return tell(guarded(self._work, *details))
        self._work = None
        path, chosen = details
        self._path = Path(path)
        try:
            adopt(chosen)
            self._work = read_work(path)
        except BaseException as error:
            return pack(reason_of(error))
        return pack(None)

    def abandon(self) -> None:
        """Removes the file with the work: whoever would have done it is gone."""
        if self._path is not None and not self._path.is_relative_to("/proc"):
            with suppress(OSError):
                self._path.unlink()


def guarded(work: Work, job: Job) -> JobResult:
    """`attempt`, in a process of which nothing but the job depends: not even ``KeyboardInterrupt`` ends it."""
    start = time.perf_counter()
    try:
        return attempt(work, job)
    except BaseException as error:
        return failed(job, error, time.perf_counter() - start)


def tell(result: JobResult) -> list[Part]:
    """A result without its job, for the process that has the job."""
    try:
        return pack((result.value, result.seconds, result.failure, _dismantled(result.error)))
    except Exception as error:
        failure = f"what the job returned cannot be sent to another process: {reason_of(error)}"
        return pack((None, result.seconds, failure, None))


def hear(job: Job, parts: Sequence[Part]) -> JobResult:
    """The result that `tell` told."""
    try:
        value, seconds, failure, error = unpack(parts)
        return JobResult(job, value, seconds, failure, None if error is None else _assembled(*error))
    except Exception as error:
        return JobResult(job, failure=f"what the job returned cannot be received: {reason_of(error)}")


def settings() -> dict[str, Any]:
    """What of torch's global state decides numbers."""
    return {
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "flushed": bool(torch.tensor(1e-39) * 1.0 == 0),  # torch tells of no other way
    }


def adopt(settings: Mapping[str, Any]) -> None:
    """Makes another process's `settings` those of this one."""
    torch.set_default_dtype(settings["dtype"])
    torch.use_deterministic_algorithms(settings["deterministic"], warn_only=settings["warn_only"])
    torch.set_float32_matmul_precision(settings["precision"])
    torch.backends.mkldnn.enabled = settings["mkldnn"]
    torch.set_flush_denormal(settings["flushed"])


def _dismantled(error: Exception | None) -> tuple[type[Exception], tuple[Any, ...], dict[str, Any]] | None:
    """An error as its class and what it holds: pickle would call its constructor, with the wrong arguments.

    What cannot travel becomes text.
    """
    if error is None:
        return None
    state = {name: _portable(value) for name, value in vars(error).items()}
    return type(error) if _packs(type(error)) else MutinyError, tuple(map(_portable, error.args)), state


def _assembled(kind: type[Exception], arguments: tuple[Any, ...], state: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(state)
    return error


def _portable(value: Any) -> Any:
    return value if _packs(value) else str(value)


def _packs(value: Any) -> bool:
    try:
        unpack(pack(value))
    except Exception:
        return False
    return True
