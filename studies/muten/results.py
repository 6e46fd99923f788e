"""All numbers of the study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutiny.core.stats import Rate
from studies.muten import assaults, defenses
from studies.muten.comparisons import Comparison, Side
from studies.muten.defended import NONE
from studies.muten.gains import CsvRow, Gain, compare, joined
from studies.muten.lab import subject_rows
from studies.muten.subjects import ORDER
from studies.store import mean, number
from studies.surroundings import read_settings, run_rows


@dataclass(frozen=True)
class Results:
    """The rows of every file."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    assaults: list[CsvRow]
    defenses: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        parts = (subject_rows, run_rows, assaults.rows, defenses.accuracy_rows)
        return cls(read_settings(folder), *(rows(folder).rows for rows in parts))

    def of(self, subject: str, side: Side, level: str, defense: str = NONE) -> list[CsvRow]:
        """A row of each round."""
        wanted = {"subject": subject, "defense": defense, "attack": side.attack, "level": level, "arm": side.arm}
        return [row for row in self.assaults if all(row[name] == value for name, value in wanted.items())]

    def success(self, subject: str, side: Side, level: str, defense: str = NONE, of_all: bool = False) -> Rate | None:
        """Wrong answers after an attack: of those that were right before, or of all; all rounds together."""
        rows = self.of(subject, side, level, defense)
        if not rows:
            return None
        one, correct = joined(rows)
        return one.of_all() if of_all else one.of_correct(correct)

    def share(self, subject: str, side: Side, level: str, defense: str = NONE) -> float | None:
        """Its value."""
        found = self.success(subject, side, level, defense)
        return found.value if found else None

    def mean(self, subject: str, side: Side, level: str, column: str, defense: str = NONE) -> float | None:
        """A column's mean over rounds."""
        return mean(self.of(subject, side, level, defense), column)

    def gain(self, subject: str, compared: Comparison, levels: Sequence[str], defense: str = NONE) -> Gain | None:
        """Compares two sides image by image, at one level, or as the mean over those levels that both have."""
        return compare(
            (self.of(subject, compared.first, level, defense), self.of(subject, compared.second, level, defense))
            for level in levels
        )

    def accuracy(self, subject: str, defense: str) -> float | None:
        """Of a network, defended or not, on the test set."""
        rows = [row | {"defense": NONE} for row in self.subjects] + self.defenses
        found = [row for row in rows if (row["subject"], row["defense"]) == (subject, defense)]
        return number(found[0], "accuracy") if found else None

    def present(self, attack: str | None = None) -> list[str]:
        """Subjects with rows, in the usual order."""
        return [s for s in ORDER if any(r["subject"] == s and attack in (None, r["attack"]) for r in self.assaults)]
