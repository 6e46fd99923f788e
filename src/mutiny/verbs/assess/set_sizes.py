"""How many inputs like those of the test set would notice a given cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from mutiny.core.stats.notice_power import LARGEST_PLAN, inputs_for_power
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.fault_search import FoundFault
from mutiny.verbs.assess.notice import PlannedSize

COSTS = {False: (2.0, 1.0, 0.5), True: (20.0, 10.0, 5.0)}
"""Costs to plan for: accuracy points, or percent of the loss."""
POWER = 0.8
NEAR, FEWEST_NEAR, FEWEST_CHANGED = (2.0, 4.0), 10, 100
"""Faults within these factors of a cost, if there are so many of them with so many changed answers, tell how many
answers change at that cost; otherwise all faults in the bins do."""
WIDEST = 1e6
"""An interval that reaches further than this factor from the planned size is cut off there."""

Floats = npt.NDArray[np.float64]


def planned_sizes(
    faults: Sequence[FoundFault], units: Sequence[int], inputs: int, unit: CostUnit, alpha: float
) -> tuple[PlannedSize, ...]:
    """Sizes of test sets, with intervals over units such as originals.

    How many answers of the test set change per point of cost is taken from the faults themselves: a point costs easy
    inputs fewer answers than it costs hard ones. For a loss, so are the mean and the spread of its growth.

    Args:
        faults: Faults of known cost.
        units: Unit of each fault, for intervals.
        inputs: Number of test inputs.
        unit: Unit of costs.
        alpha: Significance level at which a fault is noticed.
    """
    costs = np.array([fault.record.cost for fault in faults])
    rows = np.array([_row(fault, inputs, unit) for fault in faults]).reshape(-1, 3)
    changed = np.array([fault.weight.sum() for fault in faults])
    sizes = []
    for cost in COSTS[unit.relative]:
        for factor in NEAR:
            near = (costs >= cost / factor) & (costs < cost * factor)
            if near.sum() >= FEWEST_NEAR and changed[near].sum() >= FEWEST_CHANGED:
                break
        else:
            near = (costs >= unit.edges[0]) & (costs < unit.edges[-1])
        sizes.append(_planned(cost, costs[near], rows[near], np.asarray(units)[near], inputs, unit, alpha))
    return tuple(sizes)


def _row(fault: FoundFault, inputs: int, unit: CostUnit) -> tuple[float, float, float]:
    """Shares of broken and repaired answers, and 0; for a loss, mean, variance and tolerated mean of its growth."""
    if not unit.relative:
        broken, repaired = (float(fault.weight[fault.change * side > 0].sum()) for side in (1, -1))
        return broken / inputs, repaired / inputs, 0.0
    change = np.nan_to_num(fault.change.astype(float), posinf=0.0, neginf=0.0)
    mean = float(change.sum() / inputs)
    return mean, max(0.0, float((change**2).sum() / inputs - mean**2)), fault.tolerated


def _planned(
    cost: float,
    costs: Floats,
    rows: Floats,
    units: npt.NDArray[np.int64],
    inputs: int,
    unit: CostUnit,
    alpha: float,
) -> PlannedSize:
    if not len(costs):
        return PlannedSize(cost, None)
    labels = np.unique(units)
    whole = _size(cost, costs, rows, inputs, unit, alpha)
    parts = [_size(cost, costs[units != label], rows[units != label], inputs, unit, alpha) for label in labels]
    known = [size for size in parts if size is not None]
    if whole is None or len(labels) < 2 or len(known) < len(labels):
        return PlannedSize(cost, whole)
    logs = np.log(known)
    error = np.sqrt((len(labels) - 1) / len(labels) * ((logs - logs.mean()) ** 2).sum())
    factor = float(np.exp(min(np.log(WIDEST), special.stdtrit(len(labels) - 1, 0.975) * error)))
    return PlannedSize(cost, whole, max(1, round(whole / factor)), round(whole * factor))


def _size(cost: float, costs: Floats, rows: Floats, inputs: int, unit: CostUnit, alpha: float) -> int | None:
    if not len(costs) or costs.sum() <= 0:
        return None
    first, second, _ = (rows.sum(axis=0) / costs.sum() * cost).tolist()
    if not unit.relative:
        return inputs_for_power(first, second, POWER, alpha, _variation(costs, rows, inputs))
    excess = first - float(np.average(rows[:, 2], weights=costs))
    if not excess > 0:
        return None
    spread = float(np.sqrt(np.median(rows[:, 1] / costs**2))) * cost
    level, power = float(special.ndtri(1 - alpha)), float(special.ndtri(POWER))
    size = (level + power) ** 2 * (spread / excess) ** 2 + level**2 / 2  # the last term is for Student's t
    return None if size > LARGEST_PLAN else int(np.ceil(max(size, 2.0)))


def _variation(costs: Floats, rows: Floats, inputs: int) -> float:
    """Spread of the losses of faults of one cost on the test inputs, relative to their mean.

    Faults that cost the same on the reference set cost more or less on test inputs, beyond what the luck of so many
    inputs explains.
    """
    broken, repaired, _ = rows.sum(axis=0) / costs.sum()
    expected = (broken - repaired) * costs
    if not (expected > 0).all():
        return 0.0
    luck = (broken + repaired) * costs / inputs
    excess = (rows[:, 0] - rows[:, 1] - expected) ** 2 - luck
    return float(np.sqrt(max(0.0, excess.sum() / (expected**2).sum())))
