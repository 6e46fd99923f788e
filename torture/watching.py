"""Observes a campaign from outside: its file through SQLite, its processes through the operating system."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path


class Lost(Exception):
    """A check of a case failed."""


def check(holds: bool, otherwise: str) -> None:
    """Raises `Lost` unless a condition holds."""
    if not holds:
        raise Lost(otherwise)


def note(text: str) -> None:
    """Prints a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rows(store: Path, query: str) -> list[tuple]:
    """Rows of a query; none while the file has no tables."""
    if not store.exists():
        return []
    quiet = (
        "" if store.with_name(f"{store.name}-wal").exists() else "&immutable=1"
    )  # otherwise the reader would leave a log behind
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro{quiet}", uri=True, timeout=30)) as connection:
        try:
            return connection.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []
            raise


def results(store: Path) -> dict[str, str]:
    """Hashes of stored results, by job."""
    found = rows(store, "SELECT hex(id), body FROM tasks JOIN results ON task = number")
    return {job: hashlib.sha256(body).hexdigest() for job, body in found}


def attempts(store: Path) -> dict[str, int]:
    """Number of attempts of each job."""
    return dict(rows(store, "SELECT hex(id), attempts FROM tasks JOIN wanted ON task = number"))


def campaigns(store: Path) -> tuple[int, int]:
    """Number of campaigns, and number of finished ones."""
    return len(rows(store, "SELECT id FROM campaigns")), len(rows(store, "SELECT campaign FROM outcomes"))


def wait_for(holds: Callable[[], bool], seconds: float, pause: float = 0.05) -> bool:
    """Waits for a condition; returns whether it held within so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def marked(mark: str) -> list[int]:
    """Running processes with a mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def workers_of(process: int) -> list[int]:
    """Workers of a process that have loaded the work, recognized by its file in their memory map."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == process and re.search(r"/mutiny-\w+\.work", (entry / "maps").read_text()):
                    found.append(int(entry.name))
    return found


def no_orphans(mark: str, seconds: float = 60.0) -> None:
    """Waits until no marked process is left; if some stay, ends them and raises `Lost`."""
    if wait_for(lambda: not marked(mark), seconds, 0.1):
        return
    names = {number: _name(number) for number in marked(mark)}
    end_marked(mark)
    raise Lost(f"processes were left behind: {names}")


def end_marked(mark: str) -> None:
    """Ends all marked processes at once."""
    for number in marked(mark):
        with suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def _name(number: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:80]
    return "?"
