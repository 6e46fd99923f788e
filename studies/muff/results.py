"""All numbers of a study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from studies.muff import ratio, rq1, rq2, rq3, weak
from studies.muff.lab import subject_rows
from studies.muff.paper import NAMES, NOT_APPLICABLE, NOT_KILLABLE, Cell
from studies.store import number
from studies.surroundings import read_settings, run_rows

SUBJECTS = ("mnist", "speakers", "eyes", "roads", "fashion-mnist")
"""As the page shows them: the paper's order, then the one without counterpart."""
SYNTHETIC = ("speakers", "eyes", "roads")
CsvRow = dict[str, str]


@dataclass(frozen=True)
class Results:
    """The rows of every file."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    rq1: list[CsvRow]
    rq2: list[CsvRow]
    rq3: list[CsvRow]
    ratio: list[CsvRow]
    weak: list[CsvRow]
    mutants: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        return cls(
            read_settings(folder),
            subject_rows(folder).rows,
            run_rows(folder).rows,
            *(part.rows(folder).rows for part in (rq1, rq2, rq3, ratio, weak)),
            rq3.mutant_rows(folder).rows,
        )

    @property
    def originals(self) -> int:
        """Originals per subject."""
        return int(str(self.settings.get("originals", 20)))

    @property
    def most(self) -> int:
        """Most instances of a mutant; if it is not stable by then, tables count one round more, as the paper does."""
        return self.originals * (2 if self.settings.get("quick") else 5)

    def disagreement(self, subject: str, operator: str, setting: str, scenario: str) -> CsvRow | None:
        """A row of RQ1."""
        return _find(self.rq1, subject=subject, operator=operator, setting=setting, scenario=scenario)

    def stability(self, subject: str, operator: str, of_ratio: str) -> CsvRow | None:
        """A row of RQ2."""
        return _find(self.rq2, subject=subject, operator=operator, ratio=of_ratio)

    def search(self, subject: str, operator: str) -> CsvRow | None:
        """A row of RQ3."""
        return _find(self.rq3, subject=subject, operator=operator)

    def at_ratio(self, subject: str, of_ratio: str) -> CsvRow | None:
        """A row of the ratio part."""
        return _find(self.ratio, subject=subject, ratio=of_ratio)

    def worded(self, subject: str, operator: str) -> CsvRow | None:
        """A row of the weak set as the paper words it."""
        return _find(self.weak, subject=subject, operator=operator)


def _find(rows: list[CsvRow], **wanted: str) -> CsvRow | None:
    return next((row for row in rows if all(row[name] == value for name, value in wanted.items())), None)


def rate_of(row: CsvRow | None) -> Cell | None:
    """Disagreement as the paper's tables have it; ``None`` if not run."""
    if row is None:
        return None
    return {"not applicable": NOT_APPLICABLE, "done": number(row, "disagreement")}.get(row["status"], row["status"])


def sensitivity_of(row: CsvRow | None) -> Cell | None:
    """Sensitivity as in Table VI; ``"none"`` where train kills mutants and the test set none; ``None`` if not run."""
    if row is None:
        return None
    if row["status"] == "invalid":
        return NOT_APPLICABLE
    if row["status"] in ("not killable", "unstable"):
        return NOT_KILLABLE
    value = number(row, "sensitivity")
    return "none" if value is None else value


def instances_of(row: CsvRow | None) -> Cell | None:
    """Mean number of instances as in Table VII; ``None`` if not run."""
    if row is None:
        return None
    return NOT_APPLICABLE if row["status"] == "invalid" else number(row, "mean_instances")


def mean(values: list[Cell | None]) -> float | None:
    """Mean of the numbers among the cells."""
    numbers = [value for value in values if isinstance(value, float | int)]
    return float(np.mean(numbers)) if numbers else None


def of_paper(table: Mapping[str, Mapping[str, Cell]], subject: str, operator: str) -> Cell | None:
    """The paper's cell for our subject, if it has one."""
    return table[NAMES[subject]].get(operator) if subject in NAMES else None
