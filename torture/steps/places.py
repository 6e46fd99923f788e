"""Counts the places of a run at which something can go wrong, and lets it go wrong at one of them."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import torch

from mutiny.core.errors import StoreFull


class Places:
    """Counts places. At place number ``at`` a fault happens, once.

    Args:
        at: Number of the place, from 1; 0 for none.
        fault: Name of the fault, of `FAULTS`.
    """

    def __init__(self, at: int = 0, fault: str = "") -> None:
        self.at, self.fault, self.names = at, fault, list[str]()
        self.open = True

    @property
    def reached(self) -> bool:
        """Whether the fault has happened."""
        return 0 < self.at <= len(self.names)

    def reach(self, name: str) -> None:
        """Counts a place; raises, or dies, if it is the one."""
        if self.open:
            self.names.append(name)
            if len(self.names) == self.at:
                FAULTS[self.fault]()


def _raising(error: Callable[[], BaseException]) -> Callable[[], None]:
    def happen() -> None:
        raise error()

    return happen


def _sqlite(code: int, message: str) -> Callable[[], None]:
    def error() -> sqlite3.OperationalError:
        made = sqlite3.OperationalError(message)
        made.sqlite_errorcode = code
        return made

    return _raising(error)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


def _interrupt_twice() -> None:
    _interrupt()
    _interrupt()


FAULTS: dict[str, Callable[[], None]] = {
    "memory": _raising(lambda: MemoryError("planned")),
    "torch-memory": _raising(lambda: torch.OutOfMemoryError("planned")),
    "system": _raising(lambda: OSError(errno.EIO, os.strerror(errno.EIO))),
    "interrupt": _raising(KeyboardInterrupt),
    "exit": _raising(lambda: SystemExit(7)),
    "store-full": _raising(lambda: StoreFull("store", "planned", "room for more on its disk")),
    "full": _sqlite(sqlite3.SQLITE_FULL, "database or disk is full"),
    "input-output": _sqlite(sqlite3.SQLITE_IOERR, "disk I/O error"),
    "busy": _sqlite(sqlite3.SQLITE_BUSY, "database is locked"),
    "read-only": _sqlite(sqlite3.SQLITE_READONLY, "attempt to write a readonly database"),
    "signal": _interrupt,
    "signals": _interrupt_twice,
    "death": _die,
}
"""What can go wrong, by name."""
FATAL = "TORTURE_FATAL_PASS"
"""Environment variable with a forward pass at which worker processes fail: its number, the fault, the process that is
no worker, and a note that is made."""
OWN = {
    "memory": MemoryError,
    "torch-memory": torch.OutOfMemoryError,
    "system": OSError,
    "interrupt": KeyboardInterrupt,
    "exit": SystemExit,
}
"""Faults that a caller in Python may meet as they are; all others must become errors of mutiny."""

current = Places()
"""The places of this process, which the network of the campaigns counts its forward passes in."""


_passes = 0


def passed() -> None:
    """Counts a forward pass of the network; in a worker process, see `FATAL`."""
    current.reach("forward pass")
    if FATAL in os.environ:
        _fail_in_worker(*os.environ[FATAL].split(":", 3))


def _fail_in_worker(number: str, fault: str, driver: str, note: str) -> None:
    """Lets a worker process fail at a forward pass, once: its successors find the note and go on."""
    global _passes
    if os.getpid() == int(driver):
        return
    _passes += 1
    if _passes == int(number) and not Path(note).exists():
        Path(note).touch()
        FAULTS[fault]()


def count_in(places: Places) -> None:
    """Makes the network of the campaigns count in ``places``."""
    global current
    current = places
