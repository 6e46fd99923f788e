"""The file of an open store: whether it is still there, and whether it is complete without its log."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path


class OpenFile:
    """Notices that the file of a store was deleted, replaced or truncated while a process writes it.

    SQLite does not: it goes on in a file without a name, or loses what a program has cut off.

    Args:
        path: Path of the file, which SQLite has open.
    """

    def __init__(self, path: Path) -> None:
        found = path.stat()
        self.path, self._place, self._size = path, _place(found), found.st_size
        self._beside = {side: _place(side.stat()) for side in map(self._side, ("-wal", "-shm")) if side.exists()}

    def lost(self) -> str:
        """What happened to the file, as the end of a sentence; empty if it is as this process left it."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return "was deleted or moved"
        except OSError as error:
            return f"cannot be found any more ({error.strerror})"
        if _place(found) != self._place:
            return "was replaced by another file"
        return "" if found.st_size >= self._size else f"was cut from {self._size:,} to {found.st_size:,} bytes"

    def changed(self) -> None:
        """Notes the size of the file after this process has changed it."""
        with suppress(OSError):
            self._size = self.path.stat().st_size

    def remove_log(self) -> None:
        """Removes the log and the index of a lost file, which another file of its name must not be merged with."""
        for side, place in self._beside.items():
            with suppress(OSError):
                if _place(side.stat()) == place:
                    side.unlink()

    def _side(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)


class LogMark:
    """A mark in the file of a store, while its newest rows are in the log next to it.

    So a copy without the log can be recognized, instead of silently having fewer results.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection, self._set = connection, False

    def set(self) -> None:
        """Sets the mark in the file itself; tried again later if readers, or the disk, do not allow it now."""
        if self._set:
            return
        with suppress(sqlite3.Error):
            self._connection.execute("INSERT OR REPLACE INTO about VALUES ('log', 'in use')")
            _, frames, moved = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            self._set = frames == moved

    def clear(self) -> None:
        """Clears the mark, before the log is moved into the file and deleted."""
        with suppress(sqlite3.Error):
            self._connection.execute("DELETE FROM about WHERE key = 'log'")


def has_log(path: Path) -> bool:
    """Whether there is a log with content next to a file."""
    with suppress(OSError):
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    return False


def missing_log(connection: sqlite3.Connection, path: Path, had_log: bool) -> str:
    """A sentence if a store was copied without its log; empty otherwise.

    Args:
        connection: Connection to the store.
        path: Path of its file.
        had_log: Whether it had a log before it was opened.
    """
    marked = connection.execute("SELECT 1 FROM about WHERE key = 'log'").fetchone() is not None
    if not marked or had_log or has_log(path):
        return ""
    return f"{path.name} was copied without its log, {path.name}-wal, or that was deleted: new results may be missing."


def _place(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
