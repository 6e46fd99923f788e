"""Whether as many inputs as the planner asks for notice a cost four times in five."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from mutiny.core.records import FaultRecord
from mutiny.core.stats.notice_power import notice_power
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.fault_search import FoundFault
from mutiny.verbs.assess.set_sizes import COSTS, planned_sizes
from studies.notice.drawing import groups, of_group
from studies.notice.lab import Lab
from studies.notice.table import ALPHA, TEST, FaultTable, Ints
from studies.store import Rows

NAME = "planner"
NEAR = 1.2
"""Faults within this factor of a cost measure the power at that cost."""
MOST = 50
"""Plans, of each of which the power is measured with one test set of the planned size."""
COLUMNS = "subject cost inputs originals plans planned low high unknown faults mean_cost power power_many".split()


def rows(folder: Path) -> Rows:
    return Rows(folder / "planner.csv", COLUMNS, 2)


def units() -> list[tuple[str, ...]]:
    """Costs that `assess` plans for."""
    return [(f"{cost:g}",) for cost in COSTS[False]]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """Plans from a test set and a group of originals; power from the faults of the other originals."""
    cost, table, number = float(unit[0]), lab.all("assess"), min(10, lab.design.originals // 2)
    near = (table.cost >= cost / NEAR) & (table.cost < cost * NEAR)
    planned, power, many, faults, costs = [], [], [], [], []
    draws = min(MOST, lab.settings.draws)
    for draw in range(draws):
        rng = lab.draw(NAME, draw)
        group = groups(range(lab.design.originals), number, lab.folds, rng)[0]
        size = plan(of_group(table, group), rng.permutation(lab.universe)[: lab.size], lab)[cost]
        if size is None:
            continue
        others = table.of(near & ~np.isin(table.original, group))
        planned.append(size)
        if not len(others):
            continue
        power.append(float(others.noticed(rng.integers(0, lab.universe, size)).mean()))
        many.append(power_on_many(others.change[TEST], size))
        faults.append(len(others))
        costs.append(float(others.cost.mean()))
    rows(folder).put(
        [
            {
                "subject": lab.name,
                "cost": unit[0],
                "inputs": lab.size,
                "originals": number,
                "plans": len(planned),
                "planned": float(np.median(planned)) if planned else None,
                "low": float(np.quantile(planned, 0.05)) if planned else None,
                "high": float(np.quantile(planned, 0.95)) if planned else None,
                "unknown": draws - len(planned),
                "faults": float(np.mean(faults)) if faults else None,
                "mean_cost": float(np.mean(costs)) if costs else None,
                "power": float(np.mean(power)) if power else None,
                "power_many": float(np.mean(many)) if many else None,
            }
        ]
    )
    return True


def power_on_many(change: npt.NDArray[np.int8], size: int) -> float:
    """Mean power over faults, if test inputs were drawn from a set without end.

    Shares of broken and repaired answers differ between faults, also because there are only so many inputs; their
    distances from the mean are shrunk until they differ by as much less as that luck explains.

    Args:
        change: Changed answers of faults, 1 broken and -1 repaired, ``(faults, inputs)``.
        size: Number of test inputs.
    """
    shares = [(side * change > 0).mean(axis=1) for side in (1, -1)]
    broken, repaired = (_without_luck(share, change.shape[1]) for share in shares)
    return float(np.mean([notice_power(size, *pair, ALPHA) for pair in zip(broken, repaired, strict=True)]))


def _without_luck(shares: Floats, inputs: int) -> Floats:
    variance, luck = shares.var(), (shares * (1 - shares)).mean() / inputs
    kept = np.sqrt(max(0.0, 1 - luck / variance)) if variance > 0 else 0.0
    return np.clip(shares.mean() + kept * (shares - shares.mean()), 0.0, 1.0)


def plan(table: FaultTable, positions: Ints, lab: Lab) -> dict[float, int | None]:
    """What `assess` plans from these faults and test inputs, by cost."""
    faults = []
    for row, change in enumerate(table.change[TEST][:, positions]):
        where = np.flatnonzero(change)
        weight = np.ones(len(where), np.float32)
        answers = where.astype(np.int32), change[where].astype(np.float32), weight
        faults.append(FoundFault(_record(table, row), *answers, evaluated=len(positions)))
    sizes = planned_sizes(faults, table.original.tolist(), len(positions), unit_of(lab.subject.task), ALPHA)
    return {size.cost: size.inputs for size in sizes}


def _record(table: FaultTable, row: int) -> FaultRecord:
    return FaultRecord(
        operator=str(table.operator[row]),
        configuration="",
        parameter=str(table.parameter[row]),
        strength=float(table.strength[row]),
        original=int(table.original[row]),
        seed=int(table.seed[row]),
        cost=float(table.cost[row]),
        noticed=False,
        p_value=1.0,
        hits=None,
    )
