"""Whitening of points: the directions and scales in which they vary, for Mahalanobis distances and densities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dtrtri

from mutiny.verbs.select.surprise.rows import Floats, Rows

NULL = 1e-10
"""Share of the largest variance below which a direction counts as constant; single precision has noise of 1e-14."""
CONSTANT = 1e-6
"""Share of the mean below which a standard deviation counts as rounding of a constant column."""


@dataclass(frozen=True)
class Whitening:
    """A linear map after which points have mean zero and the identity as covariance.

    Attributes:
        mean: Mean of the points, ``(d,)``.
        matrix: Linear map, ``(d, r)``; ``r < d`` if the points do not vary in every direction.
        log_volume: Log of the product of the ``r`` standard deviations.
    """

    mean: Floats
    matrix: Floats
    log_volume: float

    def __call__(self, points: Floats) -> Floats:
        """Maps points ``(m, d)`` to ``(m, r)``, whose lengths are Mahalanobis distances."""
        return (points - self.mean) @ self.matrix

    @property
    def directions(self) -> int:
        """Number of directions in which the points vary."""
        return int(self.matrix.shape[1])


def whitening(rows: Rows, ddof: int = 0, shrink: float = 0.0) -> Whitening:
    """The whitening of points, from their covariance.

    If the covariance is singular (constant or collinear columns, or no more points than columns), only the directions
    in which the points vary count, as with a pseudo-inverse; differences in the others are ignored.

    Args:
        rows: Points, ``(n, d)``, read once in blocks.
        ddof: Delta degrees of freedom: the covariance is divided by ``n - ddof``.
        shrink: Share of the covariance to replace by a sphere of the same total variance; above 0, all directions
            count.

    >>> white = whitening(Rows(np.array([[0.0, 1.0], [4.0, 1.0]])))
    >>> white.directions, white(np.array([[6.0, 9.0]])).round(9).tolist()
    (1, [[2.0]])
    """
    n, d = rows.shape
    if n <= d and not shrink:
        return _of_few(rows.held(), n - ddof)
    mean, covariance = _moments(rows, n - ddof)
    if shrink:
        variance = float(np.trace(covariance)) / d
        covariance *= 1 - shrink
        covariance.flat[:: d + 1] += shrink * variance
    spread = np.sqrt(np.diagonal(covariance))
    varies = np.flatnonzero(spread > CONSTANT * np.abs(mean))
    if len(varies) < d:
        spread, covariance = spread[varies], covariance[np.ix_(varies, varies)]
    matrix, log_volume = _by_cholesky(covariance, spread) or _by_directions(covariance)
    if len(varies) < d:
        matrix, few = np.zeros((d, matrix.shape[1])), matrix
        matrix[varies] = few
    return Whitening(mean, matrix, log_volume)


def _moments(rows: Rows, weight: int) -> tuple[Floats, Floats]:
    """Mean and covariance (lower triangle), one block at a time."""
    n, d = rows.shape
    shift, first = np.zeros(d), np.zeros(d)
    scatter = np.zeros((d, d), order="F")
    for place, block in enumerate(rows):
        if not place:  # close to the mean, so that the subtraction below loses few digits
            shift = block.mean(axis=0)
        block -= shift
        first += block.sum(axis=0)
        scatter = dsyrk(1.0, block.T, beta=1.0, c=scatter, lower=1, overwrite_c=1)
    mean = first / n
    scatter = dsyrk(-float(n), mean[:, None], beta=1.0, c=scatter, lower=1, overwrite_c=1)
    scatter /= weight
    np.fill_diagonal(scatter, np.maximum(np.diagonal(scatter), 0.0))
    return shift + mean, scatter


def _by_cholesky(covariance: Floats, spread: Floats) -> tuple[Floats, float] | None:
    """Matrix and log volume of a nonsingular covariance (the fast case); reads the lower triangle only."""
    scaled = covariance / spread
    scaled /= spread[:, None]
    try:
        lower = linalg.cholesky(scaled, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    if len(spread) and np.diagonal(lower).min() ** 2 < NULL:
        return None
    log_volume = float(np.log(np.diagonal(lower)).sum() + np.log(spread).sum())
    inverse, _ = dtrtri(lower, lower=1, overwrite_c=1)
    inverse /= spread
    return inverse.T, log_volume


def _by_directions(covariance: Floats) -> tuple[Floats, float]:
    """Matrix and log volume in the principal directions that vary; reads the lower triangle only."""
    values, vectors = linalg.eigh(covariance, overwrite_a=True, check_finite=False)
    varies = values > NULL * values[-1]
    spread = np.sqrt(values[varies])
    return vectors[:, varies] / spread, float(np.log(spread).sum())


def _of_few(points: Floats, weight: int) -> Whitening:
    """Whitening of no more points than columns, from the products of points, ``(n, n)``, instead of columns."""
    mean = points.mean(axis=0)
    points -= mean
    points[:, points.std(axis=0) <= CONSTANT * np.abs(mean)] = 0.0
    values, vectors = linalg.eigh(points @ points.T, overwrite_a=True, check_finite=False)
    varies = values > max(NULL * values[-1], 0.0)
    spread = np.sqrt(values[varies] / weight)
    matrix = points.T @ (vectors[:, varies] / (np.sqrt(values[varies]) * spread))
    return Whitening(mean, matrix, float(np.log(spread).sum()))
