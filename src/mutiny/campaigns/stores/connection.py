"""SQLite files as stores open them, and what SQLite raises as sentences."""

from __future__ import annotations

import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from mutiny.campaigns.stores import schema
from mutiny.campaigns.stores.lock import Lock
from mutiny.campaigns.stores.sealing import check_place, damaged, header_of
from mutiny.core.errors import StoreBusy, StoreError, StoreFull

PATIENCE = 10.0
"""Seconds that a method waits for another process before it gives up."""
UNSHARED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)
"""What SQLite says where readers cannot put their index beside a store."""
WAL_BYTES = 32 << 20
"""Size to which the write-ahead log is cut; from half of it on, it is moved into the file."""


def to_write(path: Path) -> sqlite3.Connection:
    """Opens a store, all of it checked, or makes one where there is no file or an empty one.

    The caller holds its lock.
    """
    with translated(path), _closed_on_error(_connect(path, "rwc")) as connection:
        schema.check(connection, path)
        if schema.pragma(connection, "page_count") == 0:
            connection.execute("PRAGMA page_size = 4096")
            connection.execute(f"PRAGMA application_id = {schema.APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // 8192}")
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("BEGIN IMMEDIATE")  # SQLite opens what cannot be written as well, and says so at a change
        connection.execute(f"PRAGMA user_version = {schema.user_version(connection)}")
        connection.execute("ROLLBACK")
        _check_tables(connection, path)
        if schema.upgrade(connection):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the file alone tells what it is
        _check_sealed(connection, path)
        return connection


def to_read(path: Path) -> sqlite3.Connection:
    """Opens a store without ever changing it, also while another process writes it and where nobody can."""
    if not path.is_file():
        raise StoreError("store", path, "a file", "Check the name; `mutiny assess --store FILE` makes one.")
    try:
        return _readable(path, "ro")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if _code(error) not in UNSHARED:
            raise told(error, path) from error
    with translated(path):  # the folder does not allow the index that readers share, or has no room for it
        log = path.with_name(f"{path.name}-wal")
        if not log.exists() or log.stat().st_size == 0:
            return _readable(path, "ro&immutable=1")
        return _copied(path, log)


def tidy(path: Path) -> None:
    """Removes what a reader had to put beside a store that nobody writes: an empty log and its index."""
    with suppress(OSError, StoreError, sqlite3.Error):
        if path.with_name(f"{path.name}-wal").stat().st_size == 0:
            lock = Lock(path)
            try:
                with closing(_connect(path, "rw")) as connection:
                    schema.user_version(connection)
            finally:
                lock.release()


def shrink(connection: sqlite3.Connection) -> None:
    """Gives room back to the disk if most of a large file is free, as after scratch was forgotten; if it can."""
    with suppress(sqlite3.Error):
        free, pages = schema.pragma(connection, "freelist_count"), schema.pragma(connection, "page_count")
        if 2 * free > pages and free * schema.pragma(connection, "page_size") > WAL_BYTES:
            connection.execute("VACUUM")


def _readable(path: Path, mode: str) -> sqlite3.Connection:
    with _closed_on_error(_connect(path, mode)) as connection:
        schema.check(connection, path)
        found = schema.user_version(connection)
        if found == 0:
            raise StoreError(
                "store",
                path,
                "a store with a campaign; it is empty",
                f"If it is a copy, {path.name}-wal, which was beside it, is missing." * bool(path.stat().st_size),
            )
        if found < len(schema.STEPS):
            raise StoreError(
                "store",
                path,
                "a store of this version, got an older one",
                f"`mutiny resume {shlex.quote(str(path))}` brings it up to date.",
            )
        _check_tables(connection, path)
        return connection


def _copied(path: Path, log: Path) -> sqlite3.Connection:
    """Reads from a copy in memory: what a killed process left in its log counts, and cannot be merged in place."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "store"
        try:
            shutil.copyfile(path, copy)
            shutil.copyfile(log, copy.with_name("store-wal"))
        except OSError as error:
            raise StoreError(
                "store",
                path,
                f"room for a copy in {Path(folder).parent} ({error.strerror})",
                "Point the variable TMPDIR to a folder with more.",
            ) from error
        with closing(_connect(copy, "rw")) as source, _closed_on_error(_connect(Path(":memory:"), "")) as connection:
            schema.check(source, path)
            source.backup(connection)
            connection.execute("PRAGMA query_only = ON")
            return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    name = f"{path.absolute().as_uri()}?mode={mode}" if mode else str(path)
    connection = sqlite3.connect(name, uri=bool(mode), timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    if schema.user_version(connection):
        if not schema.is_whole(connection):
            raise damaged(path, "list of tables")
        for table in schema.SMALL:
            if connection.execute(f"PRAGMA integrity_check({table})").fetchone()[0] != "ok":
                raise damaged(path, f"table of {table}")


def _check_sealed(connection: sqlite3.Connection, path: Path) -> None:
    """All that is sealed is whole: who goes on with damage is told now, not hours later when it is asked for."""
    for what, query in schema.SEALED.items():
        for name, field, owner, body in connection.execute(query):
            told = f"{what} of {name}"
            check_place(header_of(body, path, told), path, told, what=what, **{field: owner})
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
    """Turns what SQLite raises into errors with a sentence."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
        raise  # the caller's mistake
    except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite says may quote damaged text
        raise told(error, path) from error


def told(error: Exception, path: Path) -> StoreError:
    """What SQLite says, in a sentence."""
    again = f"What is saved stays saved; then `mutiny resume {shlex.quote(str(path))}`."
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
