"""Table 6 and Fig. 4: is the network less accurate where TNSScore is high?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mutiny.verbs.select.parsing import as_methods
from studies.clock import Clock
from studies.nss import equal_parts
from studies.nss.lab import Lab, Settings
from studies.nss.methods import AUTHORS, GINI, NSS
from studies.store import Rows

NAME = "partitions"
PARTS = 10
METHODS = (NSS, AUTHORS, GINI)
"""The last one for comparison: a score that is known to follow accuracy."""
COLUMNS = (
    "subject method repeat inputs pearson spearman pearson_rank "
    f"{' '.join(f'accuracy_{part}' for part in range(1, PARTS + 1))} seconds cpu_seconds"
).split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "partitions.csv", COLUMNS, 3)


def units(_subject: str, settings: Settings) -> list[tuple[str, ...]]:
    """(method, repeat)."""
    return [(method, str(repeat)) for repeat in range(settings.repeats) for method in METHODS]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Writes the unit's row."""
    trial, clock = lab.trial(int(unit[1])), Clock()
    _, scores = as_methods(unit[0])[0].rank(trial.shared)
    correct = ~trial.wrong
    found = equal_parts.partition_correlation(scores, correct, PARTS)
    row: dict[str, Any] = {"subject": lab.name, "method": unit[0], "repeat": unit[1], "inputs": len(correct)}
    row |= {"pearson": found.pearson, "spearman": found.spearman}
    row["pearson_rank"] = equal_parts.partition_correlation(scores, correct, PARTS, of="rank").pearson
    shares = equal_parts.partition_accuracy(scores, correct, PARTS)
    row |= {f"accuracy_{number}": float(share) for number, share in enumerate(shares, start=1)}
    rows(folder).put([row | clock.lap()])
    return True
