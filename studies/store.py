"""Rows of numbers in a CSV file, written as soon as they are known and never computed twice."""

from __future__ import annotations

import csv
import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.reports.files import replacing

Row = Mapping[str, Any]


class Rows:
    """A CSV file whose rows are found by their first columns.

    Args:
        path: the file; it need not exist yet.
        columns: all columns.
        key: how many of them name a unit of work; a unit may have several rows.
    """

    def __init__(self, path: Path, columns: Sequence[str], key: int) -> None:
        self.path, self.columns, self.key = path, tuple(columns), tuple(columns[:key])
        self.rows: list[dict[str, str]] = self._read()

    def __contains__(self, unit: tuple[str, ...]) -> bool:
        return bool(self.of(*unit))

    def of(self, *unit: str) -> list[dict[str, str]]:
        """The rows whose first columns are these."""
        names = self.key[: len(unit)]
        return [row for row in self.rows if tuple(row[name] for name in names) == unit]

    def get(self, *unit: str) -> dict[str, str] | None:
        """The row of a unit, if it is there."""
        return next(iter(self.of(*unit)), None)

    def put(self, new: Iterable[Row]) -> None:
        """Replaces the rows of these units and writes the file, whole or not at all; other processes may do so too."""
        rows = [{name: as_text(row.get(name)) for name in self.columns} for row in new]
        units = {tuple(row[name] for name in self.key) for row in rows}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with alone(self.path.parent):
            self.rows = [row for row in self._read() if tuple(row[name] for name in self.key) not in units] + rows
            with replacing(self.path) as part, part.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, self.columns, lineterminator="\n")
                writer.writeheader()
                writer.writerows(self.rows)

    def _read(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Waits until no other process is in here for this folder; ends with the process, however that ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def as_text(value: object) -> str:
    """Six significant digits of a number, nothing for None.

    >>> as_text(0.123456789), as_text(None), as_text(20), as_text("WI")
    ('0.123457', '', '20', 'WI')
    """
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def matching(rows: Iterable[dict[str, str]], **wanted: str) -> list[dict[str, str]]:
    """Rows with these values.

    >>> matching([{"subject": "mnist", "k": "1"}, {"subject": "eyes", "k": "1"}], subject="eyes")
    [{'subject': 'eyes', 'k': '1'}]
    """
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def mean(rows: Iterable[Mapping[str, str]], column: str) -> float | None:
    """Of the numbers that there are.

    >>> mean([{"k": "1"}, {"k": ""}, {"k": "4"}], "k"), mean([], "k")
    (2.5, None)
    """
    known = [value for row in rows if (value := number(row, column)) is not None]
    return float(np.mean(known)) if known else None


def number(row: Mapping[str, str] | None, column: str) -> float | None:
    """A number of a row, if there is one."""
    return float(row[column]) if row is not None and row[column] else None
