"""All numbers of the study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from studies.deepcrime import controls, operators, savings, spectra
from studies.deepcrime.compared import BETWEEN, GROUPS
from studies.deepcrime.lab import subject_rows
from studies.deepcrime.paper import TOOLS
from studies.muff.results import mean, sensitivity_of
from studies.store import number
from studies.surroundings import read_settings, run_rows

PAIRS = (*(f"{group}-{group}" for group in GROUPS), *("-".join(pair) for pair in BETWEEN))
"""What Fig. 4 has a violin for."""
CsvRow = dict[str, str]


class Cost(NamedTuple):
    """What the operators of a tool that apply took, on all sets together; a mutant is judged on one set or several."""

    operators: int
    mutants: int
    trainings: int
    seconds: float
    cpu_seconds: float

    @property
    def per_mutant(self) -> float:
        """Processor seconds."""
        return self.cpu_seconds / self.mutants


@dataclass(frozen=True)
class Results:
    """The rows of every file."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    operators: list[CsvRow]
    mutants: list[CsvRow]
    spectra: list[CsvRow]
    distances: list[CsvRow]
    controls: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        return cls(
            read_settings(folder),
            subject_rows(folder).rows,
            run_rows(folder).rows,
            operators.rows(folder).rows,
            operators.mutant_rows(folder).rows,
            spectra.rows(folder).rows,
            spectra.distance_rows(folder).rows,
            controls.rows(folder).rows,
        )

    @property
    def originals(self) -> int:
        """Originals per subject."""
        return int(str(self.settings.get("originals", 20)))

    def subject(self, name: str) -> CsvRow | None:
        """A row of ``subjects.csv``."""
        return _find(self.subjects, subject=name)

    def row(self, subject: str, operator: str) -> CsvRow | None:
        """A row of ``operators.csv``."""
        return _find(self.operators, subject=subject, operator=operator)

    def of_tool(self, subject: str, tool: str) -> list[CsvRow]:
        """The rows of a tool's operators that were run and apply."""
        found = [self.row(subject, code) for code in TOOLS[tool]]
        return [row for row in found if row is not None and row["status"] != "invalid"]

    def sensitivity(self, subject: str, tool: str) -> float | None:
        """Mean over the operators that have a number, as in Table VI."""
        return mean([sensitivity_of(self.row(subject, code)) for code in TOOLS[tool]])

    def unstable(self, subject: str) -> dict[str, float]:
        """DeepCrime's operators with unstable configurations, and which share of them is, the largest first."""
        found = {row["operator"]: number(row, "unstable") or 0.0 for row in self.of_tool(subject, "DeepCrime")}
        return {code: share for code, share in sorted(found.items(), key=lambda pair: -pair[1]) if share}

    def cost(self, subject: str, tool: str) -> Cost | None:
        """What a tool took."""
        rows = [row for row in self.of_tool(subject, tool) if number(row, "configurations")]
        if not rows:
            return None
        sums = {name: sum(number(row, name) or 0.0 for row in rows) for name in ("seconds", "cpu_seconds")}
        counts = [sum(int(row[name]) for row in rows) for name in ("configurations", "trainings")]
        return Cost(len(rows), *counts, **sums)

    def times(self, subject: str, tool: str) -> float | None:
        """How many times the processor seconds of one of MUFF's mutants one of this tool takes."""
        own, other = self.cost(subject, "MUFF"), self.cost(subject, tool)
        return None if own is None or other is None or not own.cpu_seconds else other.per_mutant / own.per_mutant

    def trainings(self, subject: str) -> savings.Trainings | None:
        """How many trainings DeepCrime's operators need in several ways."""
        row, rows = self.subject(subject), [one for one in self.mutants if one["subject"] == subject]
        counted = savings.trainings(row, rows) if row is not None else None
        return counted if counted is not None and counted.each else None

    def apart(self, subject: str, epsilon: str) -> float | None:
        """How far the spectra of two halves of the originals are apart."""
        return number(_find(self.controls, subject=subject), epsilon)

    def distances_of(self, subject: str, span: str, epsilon: str) -> dict[str, npt.NDArray[np.float64]]:
        """Spectral distances by pair of groups; those without any are not there."""
        found: dict[str, list[float]] = {pair: [] for pair in PAIRS}
        for row in self.distances:
            if (row["subject"], row["range"]) == (subject, span):
                found[f"{row['group_a']}-{row['group_b']}"].append(float(row[epsilon]))
        return {pair: np.array(values) for pair, values in found.items() if values}


def _find(rows: list[CsvRow], **wanted: str) -> CsvRow | None:
    return next((row for row in rows if all(row[name] == value for name, value in wanted.items())), None)
