"""Copies an open store whose file was deleted, replaced or truncated to a new file."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import chain, count
from pathlib import Path

from mutiny.campaigns.stores import connection as connections
from mutiny.core.errors import StoreError, StoreLost


def rescue(connection: sqlite3.Connection, path: Path, what: str) -> tuple[Path, StoreLost]:
    """The new file, and an error that names it.

    It is next to the lost file, or else in the current folder, or in a new folder for temporary files.

    Args:
        connection: Connection to the lost file, which SQLite still has open.
        path: Path of the lost file.
        what: What happened to it, as the end of a sentence.

    Raises:
        StoreLost: There is no place for a copy, or nothing can be copied.
    """
    expected, problem = f"a file that stays while it is written; it {what}", ""
    for folder in _folders(path):
        try:
            copy = _new_file(folder, path)
        except OSError as error:
            problem = problem or str(error.strerror)
            continue
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as target:
                connection.backup(target)
                target.execute("DELETE FROM about WHERE key = 'log'")
            share = "All" if _is_whole(copy) else "What is intact"
        except (sqlite3.Error, StoreError, OSError) as error:
            problem = problem or str(error)
            copy.unlink(missing_ok=True)
            continue
        return copy, StoreLost("store", path, expected, f"{share} of it is now in {copy}.")
    raise StoreLost("store", path, expected, f"Its content could not be copied: {problem}")


def _folders(path: Path) -> Iterator[Path]:
    yield path.parent
    with suppress(OSError):  # the current folder may be deleted, too
        yield Path.cwd()
    with suppress(OSError):
        yield Path(tempfile.mkdtemp(prefix="mutiny-"))


def _new_file(folder: Path, path: Path) -> Path:
    """An empty file of a new name that no other process has made."""
    for again in chain([""], (f"-{number}" for number in count(2))):
        copy = folder / f"{path.stem}-rescued{again}{path.suffix}"
        with suppress(FileExistsError):
            os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600))
            return copy
    raise AssertionError("numbers have no end")


def _is_whole(copy: Path) -> bool:
    """Whether nothing is missing in a copy; otherwise only what is intact is left in it."""
    try:
        connections.to_write(copy).close()
        return True
    except StoreError:
        from mutiny.campaigns.stores.salvage import salvage

        intact = copy.with_name(f".{copy.name}.intact")
        salvage(copy, intact)
        intact.replace(copy)
        return False
