"""Search for strengths at which a fault costs what is wanted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

STEP = 3.0
"""Factor between the strengths of the first, coarse search."""
RUNGS = 9
"""Most strengths of the coarse search."""
TRIES = 3
"""Most strengths tried for each wanted cost after that."""

CostAt = Callable[[float], float | None]
"""Cost of the fault at a strength; ``None`` if it was tried before, perhaps under a strength with the same effect."""


def place(cost_at: CostAt, bounds: tuple[float, float], edges: Sequence[float]) -> dict[float, float]:
    """Looks for one strength in each bin of cost.

    Strengths fall from the upper bound in large steps until the fault is harmless. A bin that none of them hit is then
    approached by interpolation (costs grow roughly like a power of the strength) between the mildest strengths that
    enclose it. Costs need not grow with the strength, nor reach any bin.

    Args:
        cost_at: Cost of the fault at a strength.
        bounds: Smallest strength, which changes nothing, and largest strength.
        edges: Ascending edges of the bins.

    Returns:
        The cost at every strength that was tried.

    >>> costs = place(lambda strength: 50 * strength**1.5, (0.0, 1.0), (0.5, 1.0, 2.0, 4.0, 8.0))
    >>> sorted(round(cost, 1) for cost in costs.values() if 0.5 <= cost < 8)
    [0.7, 1.9, 2.8, 5.7]
    """
    costs: dict[float, float] = {}

    def tried(strength: float) -> float | None:
        cost = cost_at(strength)
        if cost is not None:
            costs[strength] = cost
        return cost

    low, high = bounds
    for rung in range(RUNGS):
        cost = tried(low + (high - low) / STEP**rung)
        if rung and (cost is None or cost < edges[0]):  # the largest strength may be known, or milder than smaller ones
            break
    for bottom, top in pairwise(edges):
        for _ in range(TRIES):
            if any(bottom <= cost < top for cost in costs.values()):
                break
            between = _between(costs, low, math.sqrt(bottom * top))
            if between is None or tried(between) is None:
                break
    return costs


def _between(costs: dict[float, float], low: float, target: float) -> float | None:
    """A strength between the mildest two neighbors that enclose the target; ``None`` if there are none."""
    ordered = [(low, 0.0), *sorted(costs.items())]
    for (mild, less), (strong, more) in pairwise(ordered):
        if less < target <= more:
            if mild <= low or less <= 0:
                share = (target / more) ** 0.7 if mild <= low else 0.5
                return mild + (strong - mild) * share
            slope = math.log(target / less) / math.log(more / less)
            return float(low + (mild - low) * ((strong - low) / (mild - low)) ** slope)
    return None
