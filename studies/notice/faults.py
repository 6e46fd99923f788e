"""Tables of faults, one unit for each original and kind; see `finding`."""

from __future__ import annotations

from pathlib import Path

from studies.notice.lab import Lab
from studies.store import Rows

NAME = "faults"
COLUMNS = "subject kind original faults counted harmless drastic noticed".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "faults.csv", COLUMNS, 3)


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Finds the faults of one original, and counts them."""
    kind, original = unit
    table = lab.table(kind, int(original))
    counted = table.counted
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "kind": kind,
                "original": original,
                "faults": len(table),
                "counted": int(counted.sum()),
                "harmless": int((table.cost < 0.5).sum()),
                "drastic": int((table.cost >= 8).sum()),
                "noticed": int(table.noticed()[counted].sum()),
            }
        ]
    )
    return True
