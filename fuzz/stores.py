"""Mutated stores: raw bytes, rows that are sealed again, and tables of another form."""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from fuzz import reading
from fuzz.mutate import NUMBERS, TEXTS, mutated_bytes
from fuzz.sealed import mutated_row

TABLES = {
    "about": ("key", "value"),
    "campaigns": ("number", "id", "most", "body"),
    "outcomes": ("campaign", "body"),
    "tasks": ("number", "id", "kind", "name", "seconds"),
    "wanted": ("campaign", "task", "attempts"),
    "failures": ("task", "reason"),
    "results": ("task", "body"),
    "scratch": ("task", "body"),
}
STATEMENTS = """
DROP TABLE results; CREATE VIEW v AS SELECT 1; ALTER TABLE tasks ADD COLUMN more; VACUUM;
CREATE INDEX i ON tasks (name); UPDATE tasks SET id = randomblob(16);
PRAGMA user_version = 0; PRAGMA user_version = 99; PRAGMA user_version = -1; PRAGMA application_id = 1;
DELETE FROM tasks; DELETE FROM campaigns; DELETE FROM results; DELETE FROM wanted;
INSERT INTO failures SELECT number, 'reason' FROM tasks; UPDATE wanted SET attempts = 4611686018427387904;
INSERT INTO campaigns SELECT number + 100, id || 'x', most, body FROM campaigns
""".split(";")
SMALL = ("campaigns", "tasks", "tasks", "tasks", "wanted", "failures")
"""Tables without checksums."""
SEALED = ("campaigns", "campaigns", "outcomes", "outcomes", "outcomes", "results", "scratch")


def case(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """Writes a mutated store and returns how it is read."""
    path, way = folder / "a.mutiny", draw.randrange(4)
    content = draw.choice(sorted(corpus.glob("*.mutiny"))).read_bytes()
    path.write_bytes(mutated_bytes(draw, content) if way == 0 else content)
    if way:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            for _ in range(draw.choice([1, 1, 2])):
                change_table(draw, connection) if way == 1 else change_row(draw, connection)
    return reading.of_store(draw, path)


def change_row(draw: Random, connection: sqlite3.Connection) -> None:
    """Changes a sealed row, with a right checksum."""
    table = draw.choice(SEALED)
    rows = connection.execute(f"SELECT rowid, body FROM {table}").fetchall()
    if rows:
        number, body = draw.choice(rows)
        with suppress(ValueError, LookupError, struct.error, zlib.error):  # it was changed before
            connection.execute(f"UPDATE {table} SET body = ? WHERE rowid = ?", (mutated_row(draw, body), number))


def change_table(draw: Random, connection: sqlite3.Connection) -> None:
    """Changes a value to one of any type, or the tables themselves."""
    if draw.random() < 0.2:
        with suppress(sqlite3.Error):
            connection.commit()
            connection.execute(draw.choice(STATEMENTS))
        return
    table = draw.choice([*TABLES, *SMALL])
    column = draw.choice(TABLES[table])
    texts = [text for text in TEXTS if max(text, default="a") < "\ud800"]  # no surrogates
    numbers = [number for number in NUMBERS if number < 1 << 63]
    value = draw.choice([None, 0.5, -1.0, 1e300, float("inf"), b"", b"\xff" * 16, *texts, *numbers])
    where = "" if draw.random() < 0.3 else f" WHERE {column} = (SELECT min({column}) FROM {table})"
    with suppress(sqlite3.Error):
        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ?{where}", (value,))
