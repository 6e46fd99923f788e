"""What runs inside the workers of a Ray cluster."""

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
from mutiny.campaigns.engines.job_loop import adopt, guarded, tell
from mutiny.campaigns.engines.serialization import Part, read_work, unpack, write_parts
from mutiny.campaigns.jobs import Job, JobResult, Work
from mutiny.core.records import versions

Bytes = npt.NDArray[np.uint8]

DAY = 86_400.0
"""Seconds after which a note is of no use any more."""

Fetch = Callable[[], tuple[Mapping[str, Any], list[Bytes]]]

_kept: dict[str, tuple[Work, BinaryIO | None]] = {}
"""The work that this process has, by its key: at most one."""


def serve(key: str, fetch: Fetch, jobs: Sequence[list[Bytes]], seconds: float) -> str | list[list[Bytes]]:
    """What became of packed jobs: of the first at least, of no more when ``seconds`` are over.

    Args:
        key: names the work.
        fetch: gets the work's parts, and about the process that sent it ``versions``, ``settings`` and how many
            ``threads`` torch may use; called once in each process.
        jobs: packed.
        seconds: after which no other job is begun.

    Returns:
        For each job that was done what `hear` understands; a text that says why if nothing can be done here.
    """
    if key not in _kept:
        problem = _load(key, fetch)
        if problem:
            return problem
    work, _ = _kept[key]
    start, told = time.perf_counter(), []
    for packed in jobs:
        told.append([stored(part) for part in tell(_done(work, packed))])
        if time.perf_counter() - start > seconds:
            break
    return told


def _done(work: Work, packed: list[Bytes]) -> JobResult:
    try:
        job: Job = unpack(writable(packed))
    except BaseException as error:
        return failed(Job("unknown"), error)
    return guarded(work, job)


def stored(part: Part) -> Bytes:
    """A part as an array, which the object store keeps without a copy of its own."""
    return np.frombuffer(part, np.uint8) if len(part) else np.empty(0, np.uint8)


def writable(parts: Sequence[Bytes]) -> list[Part]:
    """Copies of parts: those that come out of the object store must not be written to."""
    return [bytearray(part) for part in parts]


def differences(theirs: Mapping[str, str]) -> str:
    """What is installed here in another version than there; empty if nothing is."""
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
    adopt(about["settings"])
    try:
        _kept[key] = _shared(key, parts) if Path("/proc/self/fd").exists() else (unpack(writable(parts)), None)
    except Exception as error:
        return f"the work cannot be loaded: {reason_of(error)}"
    return ""


def _shared(key: str, parts: Sequence[Bytes]) -> tuple[Work, BinaryIO]:
    """The work in memory that all workers of this machine share.

    The first of them copies it into a nameless file, which is gone with the last of them, and notes where it is.
    """
    import fcntl

    for old in Path(tempfile.gettempdir()).glob("mutiny-*.note"):
        with suppress(OSError):
            if old.stat().st_mtime < time.time() - DAY:
                old.unlink()
    note = _note(key)
    with os.fdopen(os.open(note, os.O_RDWR | os.O_CREAT, 0o600), "r+") as noted:
        fcntl.flock(noted, fcntl.LOCK_EX)
        text = noted.read()
        file = _found(**json.loads(text)) if text else None
        if file is None:
            file = tempfile.TemporaryFile(prefix="mutiny-")  # noqa: SIM115, it is kept as long as the work
            write_parts(file, [part.data for part in parts])
            noted.seek(0)
            noted.truncate()
            place = os.fstat(file.fileno())
            json.dump({"pid": os.getpid(), "fd": file.fileno(), "inode": place.st_ino, "device": place.st_dev}, noted)
    return read_work(f"/proc/self/fd/{file.fileno()}"), file


def _found(pid: int, fd: int, inode: int, device: int) -> BinaryIO | None:
    try:
        file = Path(f"/proc/{pid}/fd/{fd}").open("rb")  # noqa: SIM115, it is kept as long as the work
    except OSError:
        return None  # the process is gone
    place = os.fstat(file.fileno())
    if (place.st_ino, place.st_dev) == (inode, device):
        return file
    file.close()
    return None


def forget(key: str) -> None:
    """Removes the note of where the work is, when nobody asks for it any more."""
    _note(key).unlink(missing_ok=True)


def _note(key: str) -> Path:
    return Path(tempfile.gettempdir()) / f"mutiny-{key}.note"
