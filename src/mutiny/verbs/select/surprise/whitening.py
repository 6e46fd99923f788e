"""Directions and scales in which a cloud of points varies: what Mahalanobis distances and kernel densities stand on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dtrtri

from mutiny.verbs.select.surprise.rows import Floats, Rows

NULL = 1e-10
"""A direction whose variance is this share of the largest does not vary: single precision leaves noise of 1e-14."""
CONSTANT = 1e-6
"""A column whose standard deviation is this share of its mean is constant up to rounding."""


@dataclass(frozen=True)
class Whitening:
    """A linear map after which a cloud has mean zero and the identity as covariance.

    Attributes:
        mean: ``(d,)``.
        matrix: ``(d, r)``; ``r < d`` where the cloud does not vary in every direction.
        log_volume: log of the product of the ``r`` standard deviations.
    """

    mean: Floats
    matrix: Floats
    log_volume: float

    def __call__(self, points: Floats) -> Floats:
        """Points ``(m, d)`` as ``(m, r)``; squared lengths are now squared Mahalanobis distances."""
        return (points - self.mean) @ self.matrix

    @property
    def directions(self) -> int:
        """Directions in which the cloud varies."""
        return int(self.matrix.shape[1])


def whitening(rows: Rows, ddof: int = 0, shrink: float = 0.0) -> Whitening:
    """The whitening of a cloud, from its covariance.

    Where the covariance is singular (constant or collinear columns, no more points than columns) only the directions in
    which the cloud varies count, as with a pseudo-inverse; what a point does in the others is not seen.

    Args:
        rows: the cloud, ``(n, d)``, read once in blocks.
        ddof: the covariance divides by ``n - ddof``.
        shrink: share of the covariance that is replaced by a sphere of the same total variance; above 0, all
            directions count.

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
    """Mean and covariance (its lower triangle), one block at a time."""
    n, d = rows.shape
    shift, first = np.zeros(d), np.zeros(d)
    scatter = np.zeros((d, d), order="F")
    for place, block in enumerate(rows):
        if not place:  # near the mean, so that subtracting the mean's part below loses little
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
    """The fast way, for covariances that are not singular; only the lower triangle is read."""
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
    """Principal directions of a singular covariance that vary; only its lower triangle is read."""
    values, vectors = linalg.eigh(covariance, overwrite_a=True, check_finite=False)
    varies = values > NULL * values[-1]
    spread = np.sqrt(values[varies])
    return vectors[:, varies] / spread, float(np.log(spread).sum())


def _of_few(points: Floats, weight: int) -> Whitening:
    """No more points than columns: the same directions from products between points, ``(n, n)``, not columns."""
    mean = points.mean(axis=0)
    points -= mean
    points[:, points.std(axis=0) <= CONSTANT * np.abs(mean)] = 0.0
    values, vectors = linalg.eigh(points @ points.T, overwrite_a=True, check_finite=False)
    varies = values > max(NULL * values[-1], 0.0)
    spread = np.sqrt(values[varies] / weight)
    matrix = points.T @ (vectors[:, varies] / (np.sqrt(values[varies]) * spread))
    return Whitening(mean, matrix, float(np.log(spread).sum()))
