"""How often a test set notices changes that cost nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.notice.finding import NOISE
from studies.notice.lab import Lab
from studies.notice.table import TEST
from studies.store import Rows

NAME = "alarms"
SHUFFLED = "faults without direction"
COLUMNS = "subject change changes test_sets cost changing noticed alarms".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "alarms.csv", COLUMNS, 2)


def units(noise: bool) -> list[tuple[str, ...]]:
    """Noise of several sizes if wanted, and faults whose broken and repaired answers are exchanged at random."""
    return [*((f"noise {sd:.6f}",) for sd in NOISE if noise), (SHUFFLED,)]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Asks many test sets about changes of one kind."""
    (what,) = unit
    if what == SHUFFLED:
        table = lab.all("assess")
        table = table.of(table.counted)
        signs = lab.draw(NAME, what).choice(np.array([-1, 1], np.int8), table.change[TEST].shape)
        change = table.change[TEST] * signs
    else:
        table = lab.all("harmless")
        table = table.of(np.isclose(table.strength, float(what.split()[1]), rtol=1e-3))
        change = table.change[TEST]
    null = type(table)(**{**vars(table), "change": {TEST: change}})
    tests = lab.test_sets(lab.settings.draws)
    noticed = np.array([null.noticed(positions) for positions in tests])
    changing = np.array([(change[:, positions] != 0).any(1) for positions in tests])
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "change": what,
                "changes": len(null),
                "test_sets": len(tests),
                "cost": None if what == SHUFFLED else float(null.cost.mean()),
                "changing": float(changing.mean()),
                "noticed": int(noticed.sum()),
                "alarms": float(noticed.mean()),
            }
        ]
    )
    return True
