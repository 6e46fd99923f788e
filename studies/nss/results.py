"""All numbers of the study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mutiny.verbs.select.metrics import Repeated, over_repeats
from studies.nss import ablation, detection, partitions, retraining
from studies.nss.lab import subject_rows
from studies.store import matching, number
from studies.surroundings import read_settings, run_rows

NOT_APPLICABLE = "N/A"
CsvRow = dict[str, str]
Cell = Repeated | str | None
"""Mean and interval over repeats, "N/A", or ``None`` if not run."""


@dataclass(frozen=True)
class Results:
    """The rows of every file."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    detection: list[CsvRow]
    partitions: list[CsvRow]
    ablation: list[CsvRow]
    retraining: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        return cls(
            read_settings(folder),
            subject_rows(folder).rows,
            run_rows(folder).rows,
            *(part.rows(folder).rows for part in (detection, partitions, ablation, retraining)),
        )

    def found(self, subject: str, method: str, column: str) -> Cell:
        """A column of `detection` over repeats."""
        return over(self.detection, column, subject=subject, method=method)

    def mean(self, subject: str, method: str, column: str) -> float | None:
        """Its mean, if there is one."""
        return mean_of(self.found(subject, method, column))

    def fault_rate(self, subject: str) -> float | None:
        """Share of faults in the pools: what a random choice finds on average."""
        rows = {row["repeat"]: row for row in self.detection if row["subject"] == subject}
        shares = [float(row["faults"]) / float(row["inputs"]) for row in rows.values()]
        return sum(shares) / len(shares) if shares else None

    def seconds(self, subject: str, method: str) -> float | None:
        """Of the repeat in which nothing was computed before."""
        return mean_of(over(self.detection, "seconds", subject=subject, method=method, cold="1"))

    def correlation(self, subject: str, method: str, column: str) -> Cell:
        """A column of `partitions` over repeats."""
        return over(self.partitions, column, subject=subject, method=method)

    def varied(self, subject: str, table: str, setting: str, variant: str, column: str = "fdr_20") -> Cell:
        """A column of `ablation` over repeats."""
        return over(self.ablation, column, subject=subject, table=table, setting=setting, variant=variant)

    def gain(self, subject: str, protocol: str, method: str, budget: str, kind: str) -> Cell:
        """What retraining adds to the accuracy on ``clean`` or ``mutated`` inputs, over repeats."""
        gains = self._gains(subject, protocol, method, budget, kind)
        return over_repeats(list(gains.values())) if gains else None

    def beyond(self, subject: str, protocol: str, method: str, budget: str, kind: str) -> Cell:
        """The same, less what training on without any new input adds in the same repeat."""
        idle = self._gains(subject, protocol, retraining.NONE, "0", kind)
        gains = self._gains(subject, protocol, method, budget, kind)
        found = [gain - idle[repeat] for repeat, gain in gains.items() if repeat in idle]
        return over_repeats(found) if found else None

    def _gains(self, subject: str, protocol: str, method: str, budget: str, kind: str) -> dict[str, float]:
        wanted = {"subject": subject, "protocol": protocol, "method": method, "budget": budget, "status": "done"}
        rows = matching(self.retraining, **wanted)
        return {row["repeat"]: float(row[f"{kind}_after"]) - float(row[f"{kind}_before"]) for row in rows}


def over(rows: list[CsvRow], column: str, **wanted: str) -> Cell:
    """A column over repeats; "N/A" where a method does not apply."""
    chosen = matching(rows, **wanted)
    values = [value for row in chosen if (value := number(row, column)) is not None]
    if chosen and all(row.get("status") == "not applicable" for row in chosen):
        return NOT_APPLICABLE
    return over_repeats(values) if values else None


def mean_of(cell: Cell) -> float | None:
    """The mean, if there is one."""
    return cell.mean if isinstance(cell, Repeated) else None
