"""Tables of the SQLite store, and the steps that upgrade older versions.

The file format says ``task`` where the code says job: renaming a table would make every older file look damaged.
"""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from mutiny import __version__
from mutiny.campaigns.stores.sealing import MARK, damaged
from mutiny.core.errors import StoreError

APPLICATION = 0x6D75746E
"""Application id of SQLite files that mutiny wrote: ``mutn``."""

SMALL = ("about", "campaigns", "tasks", "wanted", "failures")
"""Tables that SQLite checks when a file is opened; in the other tables each row has its own checksum."""

OF_TASKS = {"result": "results", "scratch": "scratch"}
"""Tables with a sealed row for some of the jobs, by the kind of that row."""

SEALED = {
    **{
        what: f"SELECT name, 'task', lower(hex(id)), body FROM {table} JOIN tasks ON task = number"
        for what, table in OF_TASKS.items()
    },
    "outcome": "SELECT id, 'campaign', id, outcomes.body FROM outcomes JOIN campaigns ON campaign = number",
    "campaign": "SELECT id, 'campaign', id, body FROM campaigns",
}
"""Queries for all sealed rows, by kind: a name for people, a field of the header and its expected value, the bytes."""

Step = Callable[[sqlite3.Connection], None]


def statements(text: str) -> Step:
    """A step that runs SQL statements, one per paragraph."""

    def run(connection: sqlite3.Connection) -> None:
        for statement in text.split("\n\n"):
            connection.execute(statement)

    return run


STEPS: list[Step] = [
    statements("""
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID

CREATE TABLE campaigns (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, most INTEGER, body BLOB NOT NULL)

CREATE TABLE outcomes (campaign INTEGER PRIMARY KEY, body BLOB NOT NULL)

CREATE TABLE tasks (
    number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, name TEXT NOT NULL, seconds REAL
)

CREATE TABLE wanted (
    campaign INTEGER NOT NULL, task INTEGER NOT NULL, attempts INTEGER NOT NULL, PRIMARY KEY (campaign, task)
) WITHOUT ROWID

CREATE TABLE failures (task INTEGER PRIMARY KEY, reason TEXT NOT NULL)

CREATE TABLE results (task INTEGER PRIMARY KEY, body BLOB NOT NULL)

CREATE TABLE scratch (task INTEGER PRIMARY KEY, body BLOB NOT NULL)
"""),
]
"""``STEPS[n]`` upgrades version n to the next; version 0 is a file without tables."""


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `StoreError` unless a file is a store that this version of mutiny can read or upgrade."""
    version, mark = user_version(connection), pragma(connection, "application_id")
    if mark != APPLICATION and path.stat().st_size:  # SQLite treats files of a few bytes as empty
        raise foreign(path)
    if version > len(STEPS):
        expected = (
            f"version {len(STEPS)} or older, which mutiny {__version__} reads; it has version {version}, "
            f"written by mutiny {_writer(connection)}"
        )
        raise StoreError("store", path, expected, "Install a newer mutiny, or use another file.")


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the tables are exactly those of a store of its version."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for step in STEPS[: user_version(connection)]:
            step(model)
        return _tables(connection) == _tables(model)


def _tables(connection: sqlite3.Connection) -> list[tuple[bytes, ...]]:
    decode, connection.text_factory = connection.text_factory, bytes  # damaged names may not be valid text
    try:
        return sorted(connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"))
    finally:
        connection.text_factory = decode


def foreign(path: Path) -> StoreError:
    """The error for a file without mutiny's application id: damaged if it contains sealed rows, else foreign."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content.find(MARK) >= 0:
                return damaged(path, "file")
    except OSError as error:
        return StoreError("store", path, f"a file that can be read ({error.strerror})", "Check the disk.")
    return StoreError("store", path, "a file that mutiny wrote", "Choose another.")


def upgrade(connection: sqlite3.Connection) -> bool:
    """Upgrades a store to this version, one transaction per step; returns whether there was anything to do."""
    steps = range(user_version(connection), len(STEPS))
    for number in steps:
        connection.execute("BEGIN IMMEDIATE")
        try:
            STEPS[number](connection)
            connection.execute("INSERT OR REPLACE INTO about VALUES ('mutiny', ?)", (__version__,))
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    return bool(steps)


def user_version(connection: sqlite3.Connection) -> int:
    """The version of a store; 0 if it is new."""
    return pragma(connection, "user_version")


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """The value of a numeric pragma of SQLite."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _writer(connection: sqlite3.Connection) -> str:
    try:
        return str(connection.execute("SELECT value FROM about WHERE key = 'mutiny'").fetchone()[0])
    except (sqlite3.DatabaseError, TypeError):
        return "of a later version"
