"""Messages between an engine and its workers: work, jobs, results, torch settings."""

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


class MessageHandler:
    """Handles the messages that a worker process receives: ``("work", path, settings)`` and ``("job", job)``."""

    def __init__(self, threads: int) -> None:
        torch.set_num_threads(threads)
        self._work: Work | None = None
        self._path: Path | None = None

    def answer(self, message: Sequence[Part]) -> list[Part]:
        """The reply. To work: ``None``, or the reason why it cannot be loaded. To a job: its packed result."""
        try:
            kind, *details = unpack(message)
        except BaseException as error:  # only jobs fail here, if they hold a class that this process cannot import
            return pack_result(failed(Job("unknown"), error))
        if kind == "job":
            assert self._work is not None
            return pack_result(guarded(self._work, *details))
        self._work = None
        path, settings = details
        self._path = Path(path)
        try:
            apply_torch_settings(settings)
            self._work = read_work(path)
        except BaseException as error:
            return pack(reason_of(error))
        return pack(None)

    def abandon(self) -> None:
        """Removes the file with the work, because the engine, which would remove it, is gone."""
        if self._path is not None and not self._path.is_relative_to("/proc"):
            with suppress(OSError):
                self._path.unlink()


def guarded(work: Work, job: Job) -> JobResult:
    """`attempt` in a worker process, which not even ``KeyboardInterrupt`` must end."""
    start = time.perf_counter()
    try:
        return attempt(work, job)
    except BaseException as error:
        return failed(job, error, time.perf_counter() - start)


def pack_result(result: JobResult) -> list[Part]:
    """A result as bytes, without its job, which the receiver has."""
    try:
        return pack((result.value, result.seconds, result.failure, _dismantled(result.error)))
    except Exception as error:
        failure = f"the value of the job cannot be sent to another process: {reason_of(error)}"
        return pack((None, result.seconds, failure, None))


def unpack_result(job: Job, parts: Sequence[Part]) -> JobResult:
    """The result from the bytes of `pack_result`."""
    try:
        value, seconds, failure, error = unpack(parts)
        return JobResult(job, value, seconds, failure, None if error is None else _assembled(*error))
    except Exception as error:
        return JobResult(job, failure=f"the value of the job cannot be received: {reason_of(error)}")


def torch_settings() -> dict[str, Any]:
    """Global settings of torch that affect numbers."""
    return {
        "dtype": torch.get_default_dtype(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "warn_only": torch.is_deterministic_algorithms_warn_only_enabled(),
        "precision": torch.get_float32_matmul_precision(),
        "mkldnn": torch.backends.mkldnn.enabled,
        "flushed": bool(torch.tensor(1e-39) * 1.0 == 0),  # torch has no function that returns this flag
    }


def apply_torch_settings(settings: Mapping[str, Any]) -> None:
    """Sets the `torch_settings` of another process in this one."""
    here = torch_settings()
    torch.set_default_dtype(settings["dtype"])
    if any(here[name] != settings[name] for name in ("deterministic", "warn_only")):  # it imports a compiler
        torch.use_deterministic_algorithms(settings["deterministic"], warn_only=settings["warn_only"])
    torch.set_float32_matmul_precision(settings["precision"])
    torch.backends.mkldnn.enabled = settings["mkldnn"]
    torch.set_flush_denormal(settings["flushed"])


def _dismantled(error: Exception | None) -> tuple[type[Exception], tuple[Any, ...], dict[str, Any]] | None:
    """The class, arguments and attributes of an exception; what cannot be pickled becomes text.

    Pickle itself would call the constructor with the message as its only argument.
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
