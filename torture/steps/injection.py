"""Where faults are injected: around calls of the store, SQL statements, jobs. Only in processes that end afterwards."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from mutiny.campaigns import run
from mutiny.campaigns.stores.sqlite import SqliteStore
from torture.steps import places as places_module
from torture.steps.places import Places

STORE_CALLS = "__init__ __exit__ open drop campaigns begin want save load forget finish outcome tally close".split()
"""Methods of the store."""


def inject_store_calls(places: Places) -> None:
    """Makes the beginning and the end of each call of the store a place."""
    for name in STORE_CALLS:
        setattr(SqliteStore, name, _surrounded(getattr(SqliteStore, name), name, places))


def inject_statements(places: Places) -> None:
    """Makes the beginning and the end of each SQL statement a place."""

    class Connection(sqlite3.Connection):
        pass

    for name in ("execute", "executemany", "backup"):
        setattr(Connection, name, _surrounded(getattr(sqlite3.Connection, name), name, places))
    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **more: connect(*given, **{"factory": Connection, **more})  # type: ignore[assignment]


def inject_jobs(places: Places) -> None:
    """Makes the beginning and the end of each job, and each forward pass, a place."""
    places_module.count_in(places)
    run._Work.__call__ = _surrounded(run._Work.__call__, "job", places)  # type: ignore[method-assign]


INJECTIONS: dict[str, Callable[[Places], None]] = {
    "store-calls": inject_store_calls,
    "statements": inject_statements,
    "jobs": inject_jobs,
}
"""Kinds of places, besides system calls."""
FAULTS = {
    "store-calls": ("memory", "interrupt", "store-full", "death"),
    "statements": ("full", "input-output", "busy", "read-only", "memory", "interrupt", "death"),
    "jobs": ("memory", "torch-memory", "system", "interrupt", "exit", "death"),
}
"""Faults of each kind, in calls from Python."""
ON_COMMANDS = {
    "store-calls": ("memory", "signal", "signals", "interrupt", "death"),
    "statements": ("full", "input-output", "busy", "read-only", "memory", "interrupt"),
    "jobs": ("memory", "torch-memory", "system", "signal", "signals", "exit"),
}
"""Faults of each kind, in commands."""


def record_saved(file: Path) -> None:
    """Writes the id of each job whose result was acknowledged to a file, which survives this process."""
    handle, save = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), SqliteStore.save

    @wraps(save)
    def recorded(self: SqliteStore, campaign: str, result: Any) -> None:
        save(self, campaign, result)
        if result.failure is None:
            os.write(handle, f"{result.job.id}\n".encode())

    SqliteStore.save = recorded  # type: ignore[method-assign]


def _surrounded(function: Callable[..., Any], name: str, places: Places) -> Callable[..., Any]:
    @wraps(function)
    def call(*given: Any, **more: Any) -> Any:
        what = " ".join([name, *(value for value in given[1:2] if isinstance(value, str))])
        places.reach(f"before {what}")
        value = function(*given, **more)
        try:
            places.reach(f"after {what}")
        except BaseException:
            value, given, more = None, (), {}  # otherwise the traceback would keep stores and cursors alive
            raise
        return value

    return call
