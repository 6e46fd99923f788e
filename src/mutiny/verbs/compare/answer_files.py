"""Files of recorded answers: ``.npz``, ``.csv`` and ``.jsonl``. Nothing in them is run, and their size is bounded."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.core.json_text import memory_of, parsed
from mutiny.core.limits import Allowance
from mutiny.subjects.data.npz import read_arrays
from mutiny.verbs.compare.recorded import Columns

SUFFIXES = (".npz", ".csv", ".jsonl")
"""File name extensions of recorded answers."""
PER_BYTE, PER_CELL = 8, 128
"""Bytes that a byte of text, and a cell of a table, take at most while a CSV file is read."""


def is_answers_file(source: Any) -> bool:
    """Whether a text or path names a file of answers, by its extension.

    >>> is_answers_file("new.csv"), is_answers_file("my.py:subject")
    (True, False)
    """
    return isinstance(source, (str, Path)) and Path(source).suffix.lower() in SUFFIXES


def columns_of(path: Path, argument: str) -> Columns:
    """The columns of a file.

    Args:
        path: The file.
        argument: Name of the argument, for messages.
    """
    check_path(argument, path)
    if not path.is_file():
        raise BadInput(argument, path, "a file that exists")
    if not path.stat().st_size:
        raise BadInput(argument, path, "a file that is not empty")
    readers: dict[str, Callable[[Path, str], Columns]] = {".csv": _csv, ".jsonl": _jsonl, ".npz": _npz}
    return readers[path.suffix.lower()](path, argument)


def _npz(path: Path, argument: str) -> Columns:
    arrays = read_arrays(path, argument)
    if isinstance(arrays, np.ndarray):
        raise BadInput(argument, path, "an .npz file with named arrays", "Save it with numpy.savez(path, id=..., ...).")
    return arrays


def _csv(path: Path, argument: str) -> Columns:
    text, allowance = _bytes(path, argument)
    cells = sum(map(text.count, (b",", b"\n", b"\r")))
    allowance.take(PER_BYTE * len(text) + PER_CELL * cells)
    try:
        lines = csv.reader(io.StringIO(text.decode("utf-8-sig"), newline=""), strict=True)
        rows = [row for row in lines if row]
    except (csv.Error, ValueError) as error:
        raise BadInput(argument, path, "a table of comma-separated values", f"It cannot be read: {error}.") from None
    names = [name.strip() for name in rows[0]] if rows else []
    if len(set(names)) < len(names):
        raise BadInput(argument, path, "columns of different names in its first row")
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(names):
            wrong = f"{len(row)} values in row {number} of {path}"
            raise BadInput(argument, wrong, f"{len(names)}, one for each column of its first row")
    return {name: [row[place] for row in rows[1:]] for place, name in enumerate(names)}


def _jsonl(path: Path, argument: str) -> Columns:
    text, allowance = _bytes(path, argument)
    allowance.take(memory_of(text) + len(text) + PER_CELL * text.count(b"\n"))
    columns: dict[str, list[Any]] = {}
    lines = [line for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines, 1):
        try:
            row = parsed(line)
        except ValueError as error:
            wrong = f"It cannot be read: {error}."
            raise BadInput(argument, f"row {number} of {path}", "a JSON object on each line", wrong) from None
        if not isinstance(row, dict):
            raise BadInput(argument, f"row {number} of {path}", "a JSON object on each line")
        if number == 1:
            columns = {name: [] for name in row}
        missing = next((name for name in columns if name not in row), None)
        if missing is not None:
            raise BadInput(argument, f"row {number} of {path} without {missing[:40]}", "the names of the first row")
        for name, values in columns.items():
            values.append(row[name])
    return columns


def _bytes(path: Path, argument: str) -> tuple[bytes, Allowance]:
    size = path.stat().st_size
    allowance = Allowance(argument, path, size)
    allowance.take(size)
    return path.read_bytes(), allowance
