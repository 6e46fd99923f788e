"""Tables of the SQLite store, and the steps from older versions to this one."""

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
"""Marks a SQLite file as mutiny's: ``mutn``."""

SMALL = ("about", "campaigns", "tasks", "wanted", "failures")
"""Tables that are checked as a whole when a file is opened; what the others hold is sealed, row by row."""

OF_TASKS = {"result": "results", "scratch": "scratch"}
"""Tables with a sealed row for some of the tasks, by what that row is."""

SEALED = {
    **{
        what: f"SELECT name, 'task', lower(hex(id)), body FROM {table} JOIN tasks ON task = number"
        for what, table in OF_TASKS.items()
    },
    "outcome": "SELECT id, 'campaign', id, outcomes.body FROM outcomes JOIN campaigns ON campaign = number",
    "campaign": "SELECT id, 'campaign', id, body FROM campaigns",
}
"""By what they are, all sealed rows: a name for people, and which field of their header must be what."""

Step = Callable[[sqlite3.Connection], None]


def statements(text: str) -> Step:
    """A step of SQL statements, one per paragraph."""

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
"""``STEPS[n]`` leads from version n to the next; version 0 is a file without tables."""


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raises `StoreError` unless a file is a store that this version of mutiny can read or bring up to date."""
    found, mark = user_version(connection), pragma(connection, "application_id")
    if mark != APPLICATION and path.stat().st_size:  # SQLite takes files of a few bytes for empty ones
        raise foreign(path)
    if found > len(STEPS):
        raise StoreError(
            "store",
            path,
            f"version {len(STEPS)} or older, which mutiny {__version__} reads; it has version {found}, "
            f"written by mutiny {_writer(connection)}",
            "Install a newer mutiny, or use another file.",
        )


def is_whole(connection: sqlite3.Connection) -> bool:
    """Whether the tables are those that a store of its version has, to the letter."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        for step in STEPS[: user_version(connection)]:
            step(model)
        return _tables(connection) == _tables(model)


def _tables(connection: sqlite3.Connection) -> list[tuple[bytes, ...]]:
    decode, connection.text_factory = connection.text_factory, bytes  # what is damaged may be no text
    try:
        return sorted(connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master"))
    finally:
        connection.text_factory = decode


def foreign(path: Path) -> StoreError:
    """The error for a file that bears another program's marks, or none; bytes that mutiny sealed tell a store."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content.find(MARK) >= 0:
            return damaged(path, "file")
    return StoreError("store", path, "a file that mutiny wrote", "Choose another.")


def upgrade(connection: sqlite3.Connection) -> bool:
    """Brings a store to this version, one transaction for each step; whether there was anything to do."""
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
    """A number that SQLite keeps of a file."""
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _writer(connection: sqlite3.Connection) -> str:
    try:
        return str(connection.execute("SELECT value FROM about WHERE key = 'mutiny'").fetchone()[0])
    except (sqlite3.DatabaseError, TypeError):
        return "of a later version"
