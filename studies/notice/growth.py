"""Whether the rate grows with the test set."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.notice.drawing import groups, of_group
from studies.notice.lab import Lab
from studies.notice.table import rate_of
from studies.store import Rows

NAME = "growth"
ORDERS, STEPS, FIRST, NUMBER = 8, 8, 50, 10
COLUMNS = "subject order inputs originals rate".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "growth.csv", COLUMNS, 2)


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Adds inputs in a random order, a ninth of the test set at a time or so."""
    (order,) = unit
    table, number = lab.all("assess"), min(NUMBER, lab.design.originals)
    group = groups(range(lab.design.originals), number, lab.folds, lab.draw(NAME, order))[0]
    table = of_group(table, group)
    inputs = lab.draw(NAME, "inputs", order).permutation(lab.universe)
    sizes = np.linspace(min(FIRST, lab.size), lab.size, STEPS + 1).astype(int)
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "order": order,
                "inputs": int(size),
                "originals": number,
                "rate": rate_of(table.cost, table.noticed(inputs[:size])),
            }
            for size in sizes
        ]
    )
    return True
