"""Lock that lets one process write a store; the operating system releases it when the process ends.

The lock is on a separate file, ``FILE.lock``. Locking the store itself would interfere with SQLite, whose locks are
dropped when any handle of the file is closed in the same process.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import sys
import time
import weakref
from contextlib import suppress
from pathlib import Path

from mutiny.core.errors import StoreBusy, StoreError
from mutiny.core.private_files import NOFOLLOW, PRIVATE, is_plain

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> bool:
        os.lseek(handle, 1 << 30, os.SEEK_SET)  # a byte far behind the text, which must stay readable
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
else:
    import fcntl

    def _take(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


PATIENCE = 0.4
"""Seconds to wait by default: processes that only check the lock, or clean up after reading, hold it for a moment."""

LONGEST_TEXT = 400
"""Bytes of a lock file that are read; a name of a host has at most 253."""
_WRITTEN = re.compile(rb"(\d+( \S*\n?)?)?")
"""What a lock file contains: the number of a process and the name of its host, or less if the disk was full."""

_held: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """Locks a file for this process, until `release` or the end of the process.

    Args:
        path: Path of the file.
        patience: Seconds to wait for another process. If this process holds the lock itself, the wait is short.

    Raises:
        StoreBusy: Another process, or this one, holds the lock.
        StoreError: The lock file cannot be created or locked.
    """

    def __init__(self, path: Path, patience: float = PATIENCE) -> None:
        self.path = path.with_name(f"{path.name}.lock")
        self._handle = -1
        start = time.monotonic()
        while self._handle < 0:
            handle = _opened(self.path, path)
            try:
                if not _taken(handle, path):
                    mine = any(lock.path == self.path for lock in _held)
                    if time.monotonic() - start > (PATIENCE if mine else patience):
                        raise _busy(path, _holder(handle))
                    time.sleep(PATIENCE / 20)
                elif _is(handle, self.path):  # otherwise its last holder has just removed it: try again
                    self._handle, handle = handle, -1
                    # An interrupt may end the caller before it has a name for this lock, by which it could be released.
                    self._dropped = weakref.finalize(self, _release, self.path, self._handle)
            finally:
                if handle >= 0:
                    os.close(handle)
        _held.add(self)
        with suppress(OSError):  # on a full disk the text is missing, but the lock holds
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, f"{os.getpid()} {socket.gethostname()}\n".encode())

    @property
    def held(self) -> bool:
        """Whether this process holds the lock."""
        return self._handle >= 0

    def release(self) -> None:
        """Releases the lock. If the lock file cannot be removed, it stays, and nobody holds it."""
        if self.held:
            self._handle = -1
            self._dropped()
        _held.discard(self)

    def _leave(self) -> None:
        """Closes the file of a lock that another process holds."""
        if self.held and self._dropped.detach():
            os.close(self._handle)
            self._handle = -1
        _held.discard(self)


def _release(path: Path, handle: int) -> None:
    try:
        if sys.platform != "win32":
            with suppress(OSError):
                path.unlink(missing_ok=True)  # while it is held, so that a waiting process notices
    finally:
        os.close(handle)


def holder(path: Path) -> str | None:
    """Description of the process that writes a file; ``None`` if there is none."""
    path = path.resolve()
    try:
        handle = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | NOFOLLOW)
    except OSError:
        return None
    try:
        return None if not is_plain(handle) or _taken(handle, path) else _holder(handle)
    finally:
        os.close(handle)


def _opened(path: Path, store: Path) -> int:
    """Opens the lock file, or creates it; never follows a link, and refuses what mutiny has not written."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | NOFOLLOW, PRIVATE)
    except OSError as error:
        if path.is_symlink() or path.is_dir():
            raise _not_ours(path, store) from None
        expected = f"a folder in which files can be written ({error.strerror})"
        raise StoreError("store", store, expected, "Use another folder, or allow writing.") from None
    try:
        if is_plain(handle) and _WRITTEN.fullmatch(_text(handle)):
            handle, checked = -1, handle
            return checked
    except OSError as error:
        raise StoreError(
            "store", store, f"a lock file that can be read ({error.strerror})", "Check the disk."
        ) from None
    finally:
        if handle >= 0:
            os.close(handle)
    raise _not_ours(path, store)


def _not_ours(path: Path, store: Path) -> StoreError:
    fix = f"{path} is something else: move it away."
    return StoreError("store", store, "a file beside which mutiny can put its lock file", fix)


def _text(handle: int) -> bytes:
    """The beginning of the lock file."""
    os.lseek(handle, 0, os.SEEK_SET)
    return os.read(handle, LONGEST_TEXT)


def _taken(handle: int, store: Path) -> bool:
    try:
        return _take(handle)
    except OSError as error:
        raise StoreError(
            "store", store, f"a file system that can lock files ({error.strerror})", "Choose another folder."
        ) from None


def _is(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _holder(handle: int) -> str:
    try:
        number, host = _text(handle).decode().split()
    except (OSError, ValueError):
        return "another process"
    if number == str(os.getpid()) and host == socket.gethostname():
        return f"this process ({number})"
    return f"mutiny (process {number})" if host == socket.gethostname() else f"mutiny (process {number} on {host})"


def _busy(store: Path, holder: str) -> StoreBusy:
    fix = f"Wait for it, or use another file; `mutiny status {shlex.quote(str(store))}` shows its progress."
    return StoreBusy("store", store, f"a file that no other process writes; {holder} is writing it", fix)


def _leave_to_parent() -> None:
    for lock in list(_held):  # otherwise a child would hold the lock after its parent has ended
        lock._leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)
