"""How often the 95% intervals of `assess` hold what they are for."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mutiny.core.stats.notice import notice_interval, variance_over_inputs
from studies.notice.drawing import groups, of_all, of_group
from studies.notice.lab import Lab
from studies.notice.table import TEST, FaultTable, Ints, rate_of
from studies.store import Rows

NAME = "coverage"
THIS, OTHER = "this test set", "other inputs"
NUMBERS = (5, 10)
MOST_BOOTSTRAPS = 50
"""Draws of the interval for other inputs, each of which takes a bootstrap."""
REPEATS = 40
"""Test sets whose mean rate an interval for other inputs should hold."""
COLUMNS = "subject originals interval inputs draws covered width target another".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "coverage.csv", COLUMNS, 3)


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Draws originals (and test sets) and compares their interval with the rate of all originals."""
    number, kind = int(unit[0]), unit[1]
    found = (this if kind == THIS else other)(lab, lab.all("assess"), number)
    rows(folder).put([{"subject": lab.name, "originals": number, "interval": kind, **found}])
    return True


def this(lab: Lab, table: FaultTable, number: int) -> dict[str, object]:
    """For one test set: the rate over all originals should be inside."""
    tests, inside, widths, targets = lab.test_sets(4), [], [], []
    everyone = of_all(table, lab.design.seeds)
    for at, positions in enumerate(tests):
        target = rate_of(everyone.cost, everyone.noticed(positions))
        targets.append(target)
        for draw in range(lab.settings.draws):
            group = groups(range(lab.design.originals), number, lab.folds, lab.draw(NAME, number, at, draw))[0]
            part = of_group(table, group)
            interval = notice_interval(part.cost, part.noticed(positions), part.original)
            if interval is not None:
                inside.append(interval.low <= target <= interval.high)
                widths.append(interval.high - interval.low)
    return {
        "inputs": len(tests[0]),
        "draws": len(inside),
        "covered": float(np.mean(inside)),
        "width": float(np.mean(widths)),
        "target": float(np.mean(targets)),
    }


def other(lab: Lab, table: FaultTable, number: int) -> dict[str, object]:
    """For test sets of this size: their mean rate over all originals should be inside; and the rate of one of them."""
    size = min(lab.size, lab.universe // 2)
    everyone = of_all(table, lab.design.seeds)
    drawn = [lab.draw(NAME, "target", n).permutation(lab.universe)[:size] for n in range(REPEATS)]
    target = float(np.mean([rate_of(everyone.cost, everyone.noticed(positions)) for positions in drawn]))
    inside, another, widths = [], [], []
    for draw in range(min(lab.settings.draws, MOST_BOOTSTRAPS)):
        rng = lab.draw(NAME, "other", number, draw)
        order = rng.permutation(lab.universe)
        mine, theirs = order[:size], order[size : 2 * size]
        part = of_group(table, groups(range(lab.design.originals), number, lab.folds, rng)[0])
        variance = _variance(part, mine, draw)
        interval = notice_interval(part.cost, part.noticed(mine), part.original, other_variance=variance)
        if interval is None:
            continue
        rate = rate_of(everyone.cost, everyone.noticed(theirs))
        inside.append(interval.low <= target <= interval.high)
        another.append(interval.low <= rate <= interval.high)
        widths.append(interval.high - interval.low)
    return {
        "inputs": size,
        "draws": len(inside),
        "covered": float(np.mean(inside)),
        "width": float(np.mean(widths)),
        "target": target,
        "another": float(np.mean(another)),
    }


def _variance(table: FaultTable, positions: Ints, seed: int) -> float:
    change = table.change[TEST][:, positions]
    fault, position = np.nonzero(change)
    return variance_over_inputs(table.cost, fault, position, -change[fault, position], len(positions), seed)
