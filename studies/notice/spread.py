"""How much the rate depends on the luck of training and of random choices, and whether few originals bias it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mutiny.verbs.assess.verb import default_seeds
from studies.notice.drawing import groups, of_group
from studies.notice.lab import Lab
from studies.notice.table import FaultTable, Floats, rate_of
from studies.store import Rows

NAME = "spread"
NUMBERS = (1, 5, 10)
TEST_SETS = 4
COLUMNS = (
    "subject originals groups partitions test_sets faults mean sd low high sd_seeds pooled bias bias_error".split()
)


def rows(folder: Path) -> Rows:
    return Rows(folder / "spread.csv", COLUMNS, 2)


def available(lab: Lab, number: int) -> list[int]:
    """Originals with as many random choices as `assess` makes for groups of this size; ladders have one."""
    enough = 1 if lab.design.from_ladders else default_seeds(number)
    return [original for original in range(lab.design.originals) if lab.seeds(original) >= enough]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Rates of disjoint groups of originals, for many ways to form the groups."""
    number = int(unit[0])
    rows(folder).put([{"subject": lab.name, "originals": number, **summary(lab, lab.all("assess"), number)}])
    return True


def summary(lab: Lab, table: FaultTable, number: int) -> dict[str, object]:
    """Mean and spread over groups."""
    usable, tests = available(lab, number), lab.test_sets(TEST_SETS)
    together = table.of(np.isin(table.original, usable) & (table.seed < default_seeds(number))).rescaled()
    partitions = lab.settings.draws if number > 1 else 1
    found: list[Floats] = []
    pooled, faults = [], []
    for positions in tests:
        pooled.append(rate_of(together.cost, together.noticed(positions)))
        for partition in range(partitions):
            parts = groups(usable, number, lab.folds if number > 1 else 1, lab.draw(NAME, number, partition))
            members = [of_group(table, part) for part in parts]
            found.append(np.array([rate_of(member.cost, member.noticed(positions)) for member in members]))
            faults += [int(member.counted.sum()) for member in members]
    values = np.array(found)
    biases = (values.mean(1).reshape(len(tests), -1) - np.array(pooled)[:, None]).mean()
    several = values.shape[1] > 1
    return {
        "groups": values.shape[1],
        "partitions": partitions,
        "test_sets": len(tests),
        "faults": float(np.mean(faults)) if faults else None,
        "mean": float(values.mean()),
        "sd": float(np.sqrt(values.var(axis=1, ddof=1).mean())) if several else None,
        "low": float(values.min()),
        "high": float(values.max()),
        "sd_seeds": _over_seeds(lab, table, number),
        "pooled": float(np.mean(pooled)),
        "bias": float(biases),
        "bias_error": float(values.std(axis=1, ddof=1).mean() / np.sqrt(values.shape[1])) if several else None,
    }


def _over_seeds(lab: Lab, table: FaultTable, number: int) -> float | None:
    """Spread over random choices alone: the same originals, twice."""
    seeds = default_seeds(number)
    usable = [original for original in range(lab.design.originals) if lab.seeds(original) >= 2 * seeds]
    if len(usable) < number:
        return None
    squares = []
    for positions in lab.test_sets(TEST_SETS):
        for part in groups(usable, number, lab.folds if number > 1 else 1, lab.draw(NAME, "seeds", number)):
            here = np.isin(table.original, part)
            twice = [here & (table.seed < seeds), here & (table.seed >= seeds) & (table.seed < 2 * seeds)]
            rates = [rate_of(one.cost, one.noticed(positions)) for one in (table.of(rows).rescaled() for rows in twice)]
            squares.append((rates[0] - rates[1]) ** 2 / 2)
    return float(np.sqrt(np.nanmean(squares)))
