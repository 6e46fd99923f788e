"""All numbers of the study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

from studies.notice import alarms, coverage, faults, growth, muff, ordering, planner, reference, spread
from studies.notice.lab import subject_rows
from studies.notice.subjects import SUBJECTS
from studies.store import number
from studies.surroundings import read_settings, run_rows

CsvRow = dict[str, str]


@dataclass(frozen=True)
class Results:
    """The rows of every file, by subject in the order of the study."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    faults: list[CsvRow]
    reference: list[CsvRow]
    spread: list[CsvRow]
    coverage: list[CsvRow]
    growth: list[CsvRow]
    ordering: list[CsvRow]
    sets: list[CsvRow]
    alarms: list[CsvRow]
    planner: list[CsvRow]
    muff: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        order = [*SUBJECTS]

        def sorted_rows(rows: list[CsvRow]) -> list[CsvRow]:
            return sorted(rows, key=lambda row: order.index(row["subject"]) if row["subject"] in order else len(order))

        parts = [subject_rows(folder).rows, *(part.rows(folder).rows for part in (faults, reference, spread))]
        parts += [part.rows(folder).rows for part in (coverage, growth, ordering)]
        parts += [ordering.set_rows(folder).rows, *(part.rows(folder).rows for part in (alarms, planner, muff))]
        subjects, *rest = (sorted_rows(rows) for rows in parts)
        return cls(read_settings(folder), subjects, run_rows(folder).rows, *rest)

    def subject(self, name: str) -> CsvRow | None:
        """The row of a subject."""
        return next((row for row in self.subjects if row["subject"] == name), None)

    def orders(self, subject: str) -> list[list[tuple[int, float]]]:
        """Sizes and rates of growing test sets, one list for each order of the inputs."""
        rows = [row for row in self.growth if row["subject"] == subject]
        rows.sort(key=lambda row: (int(row["order"]), int(row["inputs"])))
        return [
            [(int(row["inputs"]), float(row["rate"])) for row in group]
            for _, group in groupby(rows, key=lambda row: row["order"])
        ]

    def steps(self, subject: str) -> list[float]:
        """What each step to a larger test set adds to the rate."""
        return [after[1] - before[1] for order in self.orders(subject) for before, after in pairwise(order)]

    def question(self, subject: str, question: str) -> CsvRow | None:
        """A row of the orderings."""
        rows = (row for row in self.ordering if row["subject"] == subject and row["question"] == question)
        return next(rows, None)

    def scores(self, subject: str, what: str) -> list[float]:
        """MUFF's scores of one kind, in order; those that there are."""
        rows = [row for row in self.muff if row["subject"] == subject and row["what"] == what]
        found = [number(row, "score") for row in sorted(rows, key=lambda row: int(row["number"]))]
        return [score for score in found if score is not None]

    def truth(self, subject: str) -> list[float]:
        """Rates of the ten test sets by other originals."""
        rows = sorted((row for row in self.sets if row["subject"] == subject), key=lambda row: int(row["set"]))
        return [float(row["truth"]) for row in rows]

    def names(self, rows: list[CsvRow]) -> list[str]:
        """Subjects of some rows, in order."""
        return [*dict.fromkeys(row["subject"] for row in rows)]
