"""Opening SQLite files as stores, and translating SQLite's errors."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mutiny.campaigns.stores import schema
from mutiny.campaigns.stores.column_types import wrong_table
from mutiny.campaigns.stores.lock import Lock
from mutiny.campaigns.stores.sealing import check_place, damaged, header_of
from mutiny.core.errors import StoreBusy, StoreError, StoreFull
from mutiny.core.private_files import create

PATIENCE = 10.0
"""Seconds that SQLite waits for another process that uses the file."""
UNSHARED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
"""Error codes if a reader cannot create SQLite's shared index next to the file."""
WAL_BYTES = 32 << 20
"""Size to which the write-ahead log is truncated; at half of this size it is moved into the file."""


def to_write(path: Path) -> sqlite3.Connection:
    """Opens a store for writing and verifies all of it; creates it if the file is missing or empty.

    A new file, and those that SQLite puts beside it, can be read and written by this user only. The caller must hold
    the lock.
    """
    with suppress(OSError):  # what is there already stays; SQLite reports everything else
        create(path)
    with translated(path), _closed_on_error(_connect(path, "rw")) as connection:
        schema.check(connection, path)
        if schema.pragma(connection, "page_count") == 0:
            connection.execute("PRAGMA page_size = 4096")
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // 8192}")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("BEGIN IMMEDIATE")  # SQLite reports a read-only file only when something is changed
        connection.execute(f"PRAGMA user_version = {schema.user_version(connection)}")
        connection.execute("ROLLBACK")
        _check_tables(connection, path)
        if schema.upgrade(connection):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # so that the file can be recognized without its log
        _check_sealed(connection, path)
        return connection


def to_read(path: Path) -> sqlite3.Connection:
    """Opens a store for reading without changing it, even if another process writes it or the folder is read-only."""
    if not path.is_file():
        raise StoreError("store", path, "a file", "Check the name; `mutiny assess --store FILE` makes one.")
    try:
        return _readable(path, "ro")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if _code(error) not in UNSHARED:
            raise as_store_error(error, path) from error
    with translated(path):  # SQLite's shared index cannot be created in the folder
        log = path.with_name(f"{path.name}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _readable(path, "ro&immutable=1")
        return _copied(path, log)


def tidy(path: Path) -> None:
    """Removes the empty log and the index that a reader left next to a store that no process writes."""
    with suppress(OSError, StoreError, sqlite3.Error):
        if path.with_name(f"{path.name}-wal").stat().st_size == 0:
            lock = Lock(path)
            try:
                with closing(_connect(path, "rw")) as connection:
                    schema.user_version(connection)
            finally:
                lock.release()


def shrink(connection: sqlite3.Connection) -> None:
    """Shrinks a large file if most of it is free, as after scratch was dropped; errors are ignored."""
    with suppress(sqlite3.Error):
        free, pages = schema.pragma(connection, "freelist_count"), schema.pragma(connection, "page_count")
        if 2 * free > pages and free * schema.pragma(connection, "page_size") > WAL_BYTES:
            connection.execute("VACUUM")


def _readable(path: Path, mode: str) -> sqlite3.Connection:
    with _closed_on_error(_connect(path, mode)) as connection:
        schema.check(connection, path)
        version = schema.user_version(connection)
        if version == 0:
            fix = "Give the command that made it again: it uses this file."
            if path.stat().st_size:
                fix += f" If it is a copy, {path.name}-wal, which was next to it, is missing."
            raise StoreError("store", path, "a store with a campaign; it is empty", fix)
        _check_tables(connection, path)
        if version == len(schema.STEPS):
            return connection
        temporary = sqlite3.connect("", isolation_level=None, check_same_thread=False)  # a file without a name
        with closing(connection), _closed_on_error(temporary) as upgraded:
            connection.backup(upgraded)
            schema.upgrade(upgraded)
            upgraded.execute("PRAGMA query_only = ON")
            return upgraded


def _copied(path: Path, log: Path) -> sqlite3.Connection:
    """Opens a copy in memory, merged with the log of a killed process, which cannot be merged in a read-only folder."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "store"
        try:
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name("store-wal"))
        except OSError as error:
            expected = f"room for a copy in {Path(folder).parent} ({error.strerror})"
            raise StoreError(
                "store", path, expected, "Point the variable TMPDIR to a folder with more room."
            ) from error
        with closing(_connect(copy, "rw")) as source, _closed_on_error(_connect(Path(":memory:"), "")) as connection:
            schema.check(source, path)
            source.backup(connection)
            _check_tables(connection, path)
            schema.upgrade(connection)
            connection.execute("PRAGMA query_only = ON")
            return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    name = f"{path.absolute().as_uri()}?mode={mode}" if mode else str(path)
    connection = sqlite3.connect(name, uri=bool(mode), timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    with _closed_on_error(connection):
        connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    if schema.user_version(connection):
        if not schema.is_whole(connection):
            raise damaged(path, "list of tables")
        for table in schema.SMALL:
            if connection.execute(f"PRAGMA integrity_check({table})").fetchone()[0] != "ok":
                raise damaged(path, f"table of {table}")
        if wrong := wrong_table(connection):
            raise damaged(path, f"table of {wrong}")


def _check_sealed(connection: sqlite3.Connection, path: Path) -> None:
    """Verifies all sealed rows, so that damage is reported now and not hours later when a row is read."""
    for what, query in schema.SEALED.items():
        for name, field, owner, body in connection.execute(query):
            title = f"{what} of {name}"
            check_place(header_of(body, path, title), path, title, what=what, **{field: owner})
    done = "SELECT name FROM tasks WHERE seconds IS NOT NULL AND number NOT IN (SELECT task FROM results)"
    for (name,) in connection.execute(done):
        raise damaged(path, f"result of {name}")


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    try:
        yield connection
    except BaseException:
        connection.close()
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns SQLite's errors into errors that say what to do."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise  # a bug in the caller
    except (sqlite3.Error, UnicodeDecodeError) as error:  # messages of SQLite may contain damaged text
        raise as_store_error(error, path) from error


def as_store_error(error: Exception, path: Path) -> StoreError:
    """The store error for an error of SQLite."""
    again = f"Saved results are kept. Then run `mutiny resume {shlex.quote(str(path))}`."
    match _code(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull("store", path, "room for more on its disk", f"Free some. {again}")
        case sqlite3.SQLITE_TOOBIG:
            return StoreError("store", path, "results below a gigabyte each", "Use less data at a time.")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy("store", path, "a file that no other program holds", f"End that program. {again}")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return StoreError("store", path, f"a file that can be opened and written ({error})", f"Allow it. {again}")
        case sqlite3.SQLITE_IOERR:
            return StoreError(
                "store", path, f"a disk with some room that reads and writes ({error})", f"Check the disk. {again}"
            )
        case sqlite3.SQLITE_NOTADB:
            return schema.foreign(path)
    return damaged(path, "file" if isinstance(error, UnicodeDecodeError) else f"file ({error})")


def _code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF
