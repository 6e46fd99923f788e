"""Types and ranges of the columns of small tables: they have no checksums, and SQLite allows values of any type."""

from __future__ import annotations

import sqlite3

from mutiny.campaigns.stores.sealing import LARGEST, LONGEST


def _number(column: str, most: float = LARGEST, kind: str = "integer") -> str:
    return f"(typeof({column}) = '{kind}' AND {column} BETWEEN 0 AND {most})"


COLUMNS = {
    "campaigns": f"typeof(id) = 'text' AND (most IS NULL OR {_number('most')})",
    "tasks": "typeof(id) = 'blob' AND length(id) = 16 AND typeof(kind) = 'text' AND typeof(name) = 'text' "
    f"AND (seconds IS NULL OR {_number('seconds', LONGEST, 'real')})",
    "wanted": " AND ".join(_number(column, 1 << 31) for column in ("campaign", "task", "attempts")),
    "failures": "typeof(reason) = 'text'",
}
"""Conditions that each row of a table fulfills, by table."""


def wrong_table(connection: sqlite3.Connection) -> str | None:
    """The first table with a value that mutiny does not write; ``None`` if there is none."""
    for table, condition in COLUMNS.items():
        if connection.execute(f"SELECT 1 FROM {table} WHERE NOT ({condition}) LIMIT 1").fetchone():
            return table
    return None
