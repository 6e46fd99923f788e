"""Bins into which a fault falls in part, by how likely each is given its measured cost."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mutiny.core.stats.notice import POINTS
from studies.notice.table import Bools, Floats

GRID = np.concatenate([-np.geomspace(3, 0.05, 15), [0.0], np.geomspace(0.05, 80, 60)])
"""Costs that a fault may have, in points."""
STEPS, UNIFORM = 15, 0.05
"""Steps of the fit of the prior, and the share of it that is uniform on the grid."""


def posterior(costs: Floats, errors: Floats) -> Floats:
    """Probability of each cost of the grid for each fault, ``(faults, grid)``.

    The prior is fitted to all these faults; measured costs are normal around the true ones.

    Args:
        costs: measured cost of each fault.
        errors: standard error of each.

    >>> found = posterior(np.array([1.5]), np.array([0.01]))
    >>> round(float(GRID[found[0].argmax()]), 1)
    1.5
    """
    distance = (costs[:, None] - GRID) / errors[:, None]
    likely = np.exp(-(distance**2) / 2) + 1e-12
    prior = np.full(len(GRID), 1 / len(GRID))
    for _ in range(STEPS):
        shares = likely * prior
        shares /= shares.sum(1, keepdims=True)
        prior = (1 - UNIFORM) * shares.mean(0) + UNIFORM / len(GRID)
    shares = likely * prior
    return np.asarray(shares / shares.sum(1, keepdims=True))


def soft_rates(costs: Floats, errors: Floats, noticed: Bools) -> list[float]:
    """The notice rate with soft bins, and that of each bin."""
    shares = posterior(costs, errors)
    weights = [shares[:, (low <= GRID) & (high > GRID)].sum(1) for low, high in pairwise(POINTS)]
    rates = [float((weight * noticed).sum() / weight.sum()) for weight in weights]
    return [float(np.mean(rates)), *rates]
