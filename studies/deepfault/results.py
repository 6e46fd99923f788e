"""All numbers of the study as its page reads them: from the CSV files and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mutiny.verbs.select.metrics import Repeated, over_repeats
from studies.deepfault import examples, injected, repairs, suspects, synthesis
from studies.deepfault.lab import MEASURES, RANDOM, subject_rows
from studies.deepfault.subjects import ORDER, Family
from studies.store import matching, mean
from studies.surroundings import read_settings, run_rows

CsvRow = dict[str, str]
LEVEL = 0.05
"""Below this a difference is significant."""


@dataclass(frozen=True)
class Results:
    """The rows of every file."""

    settings: Mapping[str, object]
    subjects: list[CsvRow]
    runs: list[CsvRow]
    suspects: list[CsvRow]
    synthesis: list[CsvRow]
    tests: list[CsvRow]
    examples: list[CsvRow]
    injected: list[CsvRow]
    mended: list[CsvRow]
    repairs: list[CsvRow]

    @classmethod
    def read(cls, folder: Path) -> Results:
        parts = (
            suspects.rows, synthesis.rows, synthesis.test_rows, examples.rows, injected.rows, injected.mended_rows,
            repairs.rows,
        )  # fmt: skip
        return cls(
            read_settings(folder), subject_rows(folder).rows, run_rows(folder).rows,
            *(rows(folder).rows for rows in parts),
        )  # fmt: skip

    def synthesized(self, subject: str, way: str, k: int, measure: str, column: str) -> Repeated | None:
        """A column of Table 3 over networks; the draws of one network are averaged first."""
        rows = matching(self.synthesis, subject=subject, way=way, k=str(k), measure=measure)
        each = [mean(matching(rows, network=name), column) for name in dict.fromkeys(row["network"] for row in rows)]
        known = [value for value in each if value is not None]
        return over_repeats(known) if known else None

    def of_family(
        self, family: Family, way: str, column: str, k: int | None = None, measures: Iterable[str] = MEASURES
    ) -> float | None:
        """The mean of a column over the networks of a family and over measures, for one number of suspects or all."""
        rows = [row for row in matching(self.synthesis, way=way) if row["subject"] in family.networks]
        rows = [row for row in rows if row["measure"] in measures and (k is None or row["k"] == str(k))]
        return mean(rows, column)

    def significant(self, subject: str, way: str, first: str, second: str, metric: str) -> tuple[int, int] | None:
        """In how many of how many cases (networks and numbers of suspects) the first fools a network more."""
        turned = (first, second) if (first, second) in pairs() else (second, first)
        rows = matching(self.tests, subject=subject, way=way, first=turned[0], second=turned[1], metric=metric)
        if not rows:
            return None
        sign = (1 if metric == "loss" else -1) * (1 if turned == (first, second) else -1)
        better = [sign * (float(row["first_mean"]) - float(row["second_mean"])) > 0 for row in rows]
        clear = [float(row["p_value"]) < LEVEL for row in rows]
        return sum(a and b for a, b in zip(better, clear, strict=True)), len(rows)

    def in_layers(self, subject: str, at: str, measure: str, k: int, column: str = "suspects") -> dict[str, float]:
        """Each layer's share of the suspects, or of all neurons; the mean over networks."""
        rows = matching(self.suspects, subject=subject, at=at, measure=measure, k=str(k))
        total = sum(float(row[column]) for row in rows)
        found: dict[str, float] = {}
        for row in rows if total else ():
            found[row["layer"]] = found.get(row["layer"], 0.0) + float(row[column]) / total
        return found

    def always(self, subject: str, at: str, measure: str, k: int) -> float | None:
        """The share of suspects that are active on all inputs of their class."""
        rows = matching(self.suspects, subject=subject, at=at, measure=measure, k=str(k))
        total = sum(float(row["suspects"]) for row in rows)
        return sum(float(row["always"]) for row in rows) / total if total else None


def pairs() -> list[tuple[str, str]]:
    """Pairs of strategies as they stand in the file."""
    order = (*MEASURES, RANDOM)
    return [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]


def deeper(shares: Mapping[str, float]) -> float | None:
    """The share in the deeper half of the layers; the middle one of an odd number counts.

    >>> deeper({"dense1": 0.25, "dense2": 0.25, "dense3": 0.5})
    0.75
    """
    return sum([*shares.values()][len(shares) // 2 :]) if shares else None


def present(rows: list[CsvRow]) -> list[str]:
    """Subjects with rows, in the usual order."""
    return [name for name in ORDER if any(row["subject"] == name for row in rows)]
