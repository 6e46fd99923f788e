"""Budgets that avoid near-duplicates: greedy k-center among the best inputs of any method."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from mutiny.verbs.select.base import Order
from mutiny.verbs.select.evidence import Evidence

CANDIDATES = 3
"""Candidates per input of the budget: diverse inputs are chosen among the best ones only."""


def diversified(order: Order, budget: int, evidence: Evidence) -> Order:
    """A new order of the same inputs: ``budget`` of the best that are far from each other, then the rest.

    Starts with the best input and repeatedly takes the candidate whose features are farthest from all taken so far (the
    2-approximation of k-center by Gonzalez, 1985). Features are the input of the output layer, or the layers that the
    user named.
    """
    candidates = order[: min(len(order), CANDIDATES * budget)]
    points = evidence.read_points("diversity", "hidden", "neuron")
    features = evidence.traces("pool", points, "neuron").take(candidates)
    first = candidates[farthest_first(features, min(budget, len(candidates)))]
    return np.concatenate([first, order[~np.isin(order, first)]])


def farthest_first(points: Tensor, count: int) -> Order:
    """Positions of ``count`` of the points ``(n, d)``: the first, then repeatedly the farthest from those taken.

    >>> farthest_first(torch.tensor([[0.0], [1.0], [5.0], [4.9]]), 3).tolist()
    [0, 2, 1]
    """
    points = points.double()
    squares = points.square().sum(dim=1)
    nearest = torch.full((len(points),), torch.inf, dtype=torch.float64)
    taken = [0]
    while len(taken) < count:
        last = taken[-1]
        distances = (squares + squares[last] - 2 * (points @ points[last])).clamp_min(0)
        nearest = torch.minimum(nearest, distances)
        nearest[taken] = -1  # never taken again, even if all distances are 0
        taken.append(int(nearest.argmax()))
    return np.array(taken[:count], np.int64)
