"""Budgets that avoid near-duplicates: greedy k-center among the best inputs of any method."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mutiny.verbs.select.base import Order
from mutiny.verbs.select.evidence import Evidence

CANDIDATES = 3
"""So many times the budget take part, best first: diversity chooses among them, not among all."""


def diversified(order: Order, budget: int, evidence: Evidence) -> Order:
    """The same inputs in another order: first ``budget`` of the best that lie far from one another, then the rest.

    Starting from the best input, the next is always the candidate whose features are farthest from all taken so far
    (the 2-approximation of k-center by Gonzalez, 1985). Features are what the output layer reads, or the layers that
    the user named.
    """
    candidates = order[: min(len(order), CANDIDATES * budget)]
    places = evidence.read_points("diversity", "hidden", "neuron")
    features = evidence.traces("pool", places, "neuron").take(candidates)
    first = candidates[farthest_first(features, min(budget, len(candidates)))]
    return np.concatenate([first, order[~np.isin(order, first)]])


def farthest_first(points: Tensor, count: int) -> Order:
    """Positions of ``count`` points ``(n, d)``: the first one, then always the one farthest from those taken.

    >>> farthest_first(torch.tensor([[0.0], [1.0], [5.0], [4.9]]), 3).tolist()
    [0, 2, 1]
    """
    points = points.double()
    squares = points.square().sum(dim=1)
    nearest = torch.full((len(points),), torch.inf, dtype=torch.float64)
    taken = [0]
    while len(taken) < count:
        last = taken[-1]
        away = (squares + squares[last] - 2 * (points @ points[last])).clamp_min(0)
        nearest = torch.minimum(nearest, away)
        nearest[taken] = -1
        taken.append(int(nearest.argmax()))
    return np.array(taken[:count], np.int64)
