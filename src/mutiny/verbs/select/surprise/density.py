"""Kernel density estimates on the log scale, finite at any distance."""

from __future__ import annotations

from math import log, pi

import numpy as np

from mutiny.verbs.select.surprise.rows import Floats, Rows
from mutiny.verbs.select.surprise.whitening import Whitening, whitening

HELD_NUMBERS = 2**25
"""Largest size of whitened training points that are kept; more points are whitened again for each block."""
NEW_ROWS = 2048
"""Points per block."""
TILE_NUMBERS = 2**16
"""Pairs of points at once: half a megabyte, which fits into a processor's cache."""


def log_density(train: Rows, points: Rows, white: Whitening | None = None) -> Floats:
    """Log density of each point under a Gaussian kernel estimate, Scott's bandwidth, full covariance; ``(m,)``.

    ``log 1/n sum_i N(x; x_i, h^2 C)`` with ``C`` the covariance of the training points and ``h = n^(-1/(r + 4))``. The
    sum is computed on the log scale, so nothing underflows. If ``C`` is singular, the density is that within the ``r``
    directions that vary.

    Args:
        train: Points that the density is estimated from, ``(n, d)``.
        points: Points to evaluate the density at, ``(m, d)``.
        white: Whitening of the training points with ``ddof=1``, if it is known.

    >>> near, far = log_density(Rows(np.array([[0.0], [1.0], [3.0]])), Rows(np.array([[1.0], [1e6]])))
    >>> bool(near > -2), bool(-1e13 < far < -1e10)
    (True, True)
    """
    white = whitening(train, ddof=1) if white is None else white
    n, r = len(train), white.directions
    width = n ** (-1 / (r + 4))
    held = [white(block) / width for block in train] if n * r <= HELD_NUMBERS else None
    densities = []
    for block in points.blocks(NEW_ROWS):
        new = white(block) / width
        top, total = np.full(len(new), -np.inf), np.zeros(len(new))
        for part in held if held is not None else (white(part) / width for part in train):
            half = np.einsum("ij,ij->i", part, part) / 2
            rows = max(1, TILE_NUMBERS // len(part))
            for at in range(0, len(new), rows):
                tile = slice(at, at + rows)
                logs = new[tile] @ part.T
                logs -= half
                higher = np.maximum(top[tile], logs.max(axis=1))
                logs -= higher[:, None]
                total[tile] = total[tile] * np.exp(top[tile] - higher) + np.exp(logs, out=logs).sum(axis=1)
                top[tile] = higher
        densities.append(np.log(total) + top - np.einsum("ij,ij->i", new, new) / 2)
    constant = log(n) + r * log(width) + r / 2 * log(2 * pi) + white.log_volume
    return np.concatenate(densities) - constant if densities else np.empty(0)
