"""Centrality of the nodes of a graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mutiny.core.errors import BadInput
from mutiny.core.stats.samples import Floats


def pagerank(weights: ArrayLike, damping: float = 0.85) -> Floats:
    """PageRank of the nodes of a weighted graph, ``(n,)``, which sums to 1 (Brin and Page, 1998).

    ``r = d P' r + (1 - d) / n``, where ``P`` has the weights of each row divided by their sum. Links from a
    node to itself are ignored; a node without links is treated as linked to all nodes.

    Args:
        weights: Weights of the links from row to column, ``(n, n)``, not negative.
        damping: Probability of following a link, in [0, 1).

    >>> pagerank([[0, 1, 1], [1, 0, 0], [1, 0, 0]]).round(3)
    array([0.486, 0.257, 0.257])
    """
    links = np.array(weights, np.float64)
    if links.ndim != 2 or links.shape[0] != links.shape[1] or not links.size:
        raise BadInput("weights", f"shape {links.shape}", "a square matrix")
    if not np.isfinite(links).all() or (links < 0).any():
        raise BadInput("weights", "negative or not finite", "numbers of at least 0")
    if not 0 <= damping < 1:
        raise BadInput("damping", damping, "a number from 0 to below 1")
    count = len(links)
    np.fill_diagonal(links, 0)
    sums = links.sum(axis=1, keepdims=True)
    steps = np.where(sums > 0, links / np.where(sums > 0, sums, 1), 1 / count)
    ranks: Floats = np.linalg.solve(np.eye(count) - damping * steps.T, np.full(count, (1 - damping) / count))
    return ranks
