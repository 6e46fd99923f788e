"""What every verb returns has in common: JSON, tables for a notebook and for pandas, and numbers to keep track of."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from mutiny.core.errors import BadInput, MissingExtra
from mutiny.core.records import to_plain
from mutiny.core.subject_records import SubjectRecord

SCHEMA = 1
SHOWN = 25
"""Rows of a table that a notebook shows."""
Rows = Sequence[Mapping[str, Any]]


class Result(ABC):
    """A base for the results of verbs.

    Subclasses are dataclasses with these attributes, and say what is theirs: `details`, `tables`, `metrics`.

    Attributes:
        verb: that made it.
        subject: what was tested.
        settings: that decided it, plain values.
        versions: of mutiny and what it rests on.
        notes: what a careful reader should know.
        seconds: that it took.
        created: when it was begun.
    """

    verb: ClassVar[str]
    subject: SubjectRecord
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    notes: tuple[str, ...]
    seconds: float
    created: str

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""

    @abstractmethod
    def tables(self) -> dict[str, Rows]:
        """Rows by the name of a table, the most important table first."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """The numbers to watch from run to run."""

    def timing(self) -> dict[str, Any]:
        """What depends on the clock, or on what was known already."""
        return {"created": self.created, "seconds": round(self.seconds, 3)}

    def to_json(self) -> dict[str, Any]:
        """Plain values, versioned; what depends on the clock is under ``timing`` and nowhere else."""
        return {
            "schema": SCHEMA,
            "verb": self.verb,
            "subject": to_plain(self.subject),
            "settings": to_plain(self.settings),
            "versions": dict(self.versions),
            **self.details(),
            "notes": list(self.notes),
            "timing": self.timing(),
        }

    def to_frame(self, table: str | None = None) -> Any:
        """A table as a pandas ``DataFrame``.

        Args:
            table: one of `tables`; the first if not given.
        """
        tables = self.tables()
        if table is not None and table not in tables:
            raise BadInput("table", repr(table), f"one of {', '.join(tables)}")
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("pandas", "notebook") from None
        return pd.DataFrame([*tables[table or next(iter(tables))]])

    def _repr_html_(self) -> str:
        """The first table and the notes, for a notebook."""
        rows = next(iter(self.tables().values()))
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return f"<p><b>{html.escape(repr(self))}</b></p>{_table(rows)}{f'<ul>{notes}</ul>' if notes else ''}"


def finite(values: Mapping[str, float | None]) -> dict[str, float]:
    """Those that are there, and numbers.

    >>> finite({"a": 1.0, "b": None, "c": float("nan")})
    {'a': 1.0}
    """
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def _table(rows: Rows) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{html.escape(_cell(value))}</td>' for value in row.values())}</tr>" for row in rows[:SHOWN]
    )
    more = f"<p>and {len(rows) - SHOWN:,} more</p>" if len(rows) > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
