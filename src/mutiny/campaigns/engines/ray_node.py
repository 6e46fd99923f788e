"""Code that runs inside the workers of a Ray cluster."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import torch

from mutiny.campaigns.engines.base import failed, reason_of
from mutiny.campaigns.engines.serialization import Part, read_work, unpack, write_parts
from mutiny.campaigns.engines.worker_messages import apply_torch_settings, guarded, pack_result
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.private_files import NOFOLLOW, PRIVATE, is_own
from mutiny.core.results import versions

Bytes = npt.NDArray[np.uint8]

DAY = 86_400.0
"""Seconds after which a note in the temporary folder is removed."""

Fetch = Callable[[], tuple[Mapping[str, Any], list[Bytes]]]

_kept: dict[str, tuple[Work, BinaryIO | None]] = {}
"""The work that this process has loaded, by its key; at most one."""


def serve(key: str, fetch: Fetch, jobs: Sequence[list[Bytes]], seconds: float) -> str | list[list[Bytes]]:
    """Runs packed jobs: the first one, and further ones until ``seconds`` have passed.

    Args:
        key: Name of the work.
        fetch: Function that gets the parts of the work, and about the process that sent it ``versions``, ``settings``
            and the number of ``threads`` for torch; called once in each process.
        jobs: Packed jobs.
        seconds: Seconds after which no further job is started.

    Returns:
        A packed result for each job that was run; a text with the reason if no job can be run here.
    """
    if key not in _kept:
        problem = _load(key, fetch)
        if problem:
            return problem
    work, _ = _kept[key]
    start, results = time.perf_counter(), []
    for packed in jobs:
        results.append([stored(part) for part in pack_result(_done(work, packed))])
        if time.perf_counter() - start > seconds:
            break
    return results


def _done(work: Work, packed: list[Bytes]) -> JobResult:
    try:
        job: Job = unpack(writable(packed))
    except BaseException as error:
        return failed(Job("unknown"), error)
    return guarded(work, job)


def stored(part: Part) -> Bytes:
    """A part as an array, which the object store holds without another copy."""
    return np.frombuffer(part, np.uint8) if len(part) else np.empty(0, np.uint8)


def writable(parts: Sequence[Bytes]) -> list[Part]:
    """Copies of parts, because those in the object store are read-only."""
    return [bytearray(part) for part in parts]


def differences(theirs: Mapping[str, str]) -> str:
    """Packages whose versions here differ from ``theirs``, as text; empty if none does."""
    here = versions()
    different = [
        f"{name} {here.get(name)} instead of {theirs[name]}" for name in theirs if here.get(name) != theirs[name]
    ]
    return ", ".join(different)


def _load(key: str, fetch: Fetch) -> str:
    _kept.clear()
    about, parts = fetch()
    if different := differences(about["versions"]):
        return f"there is {different}: install the same versions on all"
    torch.set_num_threads(about["threads"])
    apply_torch_settings(about["settings"])
    try:
        _kept[key] = _shared(key, parts) if Path("/proc/self/fd").exists() else (unpack(writable(parts)), None)
    except Exception as error:
        return f"the work cannot be loaded: {reason_of(error)}"
    return ""


def _shared(key: str, parts: Sequence[Bytes]) -> tuple[Work, BinaryIO]:
    """The work in memory that all workers of this machine share.

    The first worker copies it into a file without a name, which vanishes with the last worker, and notes in the
    temporary folder where the others find it.
    """
    import fcntl

    for old in Path(tempfile.gettempdir()).glob("mutiny-*.note"):
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - DAY:
                old.unlink()
    note = _note(key)
    with os.fdopen(os.open(note, os.O_RDWR | os.O_CREAT | NOFOLLOW, PRIVATE), "r+") as noted:
        if not is_own(noted.fileno()):
            raise PermissionError(f"{note} belongs to another user")
        fcntl.flock(noted, fcntl.LOCK_EX)
        text = noted.read()
        file = _opened(**json.loads(text)) if text else None
        if file is None:
            file = tempfile.TemporaryFile(prefix="mutiny-")  # noqa: SIM115, it is kept as long as the work
            write_parts(file, [part.data for part in parts])
            noted.seek(0)
            noted.truncate()
            place = os.fstat(file.fileno())
            json.dump({"pid": os.getpid(), "fd": file.fileno(), "inode": place.st_ino, "device": place.st_dev}, noted)
    return read_work(f"/proc/self/fd/{file.fileno()}"), file


def _opened(pid: int, fd: int, inode: int, device: int) -> BinaryIO | None:
    try:
        file = Path(f"/proc/{pid}/fd/{fd}").open("rb")  # noqa: SIM115, it is kept as long as the work
    except OSError:
        return None  # the process is gone
    place = os.fstat(file.fileno())
    if is_own(file.fileno()) and (place.st_ino, place.st_dev) == (inode, device):
        return file
    file.close()
    return None


def forget(key: str) -> None:
    """Removes the note about where the work is."""
    _note(key).unlink(missing_ok=True)


def _note(key: str) -> Path:
    return Path(tempfile.gettempdir()) / f"mutiny-{key}.note"
