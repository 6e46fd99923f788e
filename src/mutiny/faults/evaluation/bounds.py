"""Error bounds of estimates from a stratified sample, as pure functions of the sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from mutiny.core.stats.intervals import rate_bound
from mutiny.core.stats.tails import tail_bound

Floats = npt.NDArray[np.float64]
BINS = 16
SURPRISE = 1e-3
"""A changed answer to which extrapolation gave a smaller probability than this is a surprise."""


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds of errors, as sums over inputs; they hold simultaneously.

    Attributes:
        mean: Bound of the error of the sum over all instances.
        norm: Bound of the Euclidean norm of the errors over instances.
        each: Bound of the error of each instance, ``(instances,)``.
    """

    mean: float
    norm: float
    each: Floats

    def plus(self, hidden: float) -> ErrorBounds:
        """The bounds with ``hidden`` further changes, which may all be in one instance."""
        return ErrorBounds(self.mean + hidden, self.norm + hidden, self.each + hidden)


def flip_rates(counts: npt.NDArray[np.int64], changes: list[Floats], risk: float) -> Floats:
    """Upper bounds of the rate of changed answers in each stratum, pooled over instances, ``(strata,)``.

    The rate is also the mean squared change of a share that is 0 or 1. The bounds hold even if no change was seen.

    Args:
        counts: Number of inputs drawn, ``(strata,)``.
        changes: Changes of the inputs drawn, for each stratum.
        risk: Probability that any bound is too low.
    """
    return rate_bound([np.count_nonzero(change) for change in changes], counts, risk / len(counts))


def loss_moments(changes: list[Floats], peaks: Floats, risk: float) -> Floats:
    """Upper bounds of the mean squared change of a loss in each stratum, ``(strata,)``.

    Empirical Bernstein bounds (Maurer and Pontil, 2009) under the condition that no change exceeds the stratum's peak.
    They stay positive if nothing changed in the sample, since rare changes may have been missed.
    """
    bounds = peaks**2
    log = np.log(2 * len(changes) / risk)
    for stratum, change in enumerate(changes):
        n, squares, most = len(change), change**2, bounds[stratum]
        if n > 1:
            room = np.sqrt(2 * squares.var(ddof=1) * log / n) + 7 * most * log / (3 * (n - 1))
            bounds[stratum] = min(squares.mean() + room, most)
    return bounds


def bernstein(
    left: Floats, count: Floats, moments: Floats, own_moments: Floats, peaks: Floats, risk: float
) -> ErrorBounds:
    """Errors of sums that were extended from samples, by Bernstein's inequality.

    The error of a sum over a stratum of ``N`` inputs, of which ``n`` were drawn, is ``N`` times the error of the sample
    mean. Drawing without replacement has no larger errors than drawing with replacement (Hoeffding, 1963), so each
    input drawn counts ``N / n`` times.

    Args:
        left: Inputs not drawn, ``(instances, strata)``.
        count: Inputs drawn, ``(instances, strata)``.
        moments: Bounds of the mean squared change in each stratum, ``(strata,)``.
        own_moments: Mean squared change in the sample of each instance, ``(instances, strata)``.
        peaks: Largest possible change in each stratum, ``(strata,)``.
        risk: Probability that any bound is exceeded.
    """
    weight = np.divide(left + count, count, out=np.zeros_like(left), where=(count > 0) & (left > 0))
    moments = np.maximum(moments, own_moments)  # an instance with large changes is not averaged away by the others
    variances = ((left + count) * weight * moments).sum(axis=1)
    steps = (weight * peaks).max(axis=1, initial=0.0)
    several = np.log(2 * 3 / risk)
    single = np.log(2 * 3 * len(left) / risk)
    return ErrorBounds(
        mean=float(np.sqrt(2 * variances.sum() * several) + several / 3 * steps.max()),
        norm=float(np.sqrt(variances.sum()) + np.sqrt(2 * variances.max() * several) + several / 3 * steps.max()),
        each=np.sqrt(2 * variances * single) + single / 3 * steps,
    )


def unseen(left: Floats, count: Floats, risk: float) -> float:
    """Upper bound of the number of changed answers in strata whose samples show none, whatever their rates are.

    If a stratum holds ``k`` changes, a sample of it misses all of them with a probability of at most
    ``(left / (left + count))^k``; so the total of all ``k * ln(1 + count / left)`` is at most ``ln(1 / risk)``. This
    holds for strata that are chosen beforehand: a caller that chooses them by their samples divides the risk by the
    number of possible choices.

    Args:
        left: Inputs not drawn, of any shape.
        count: Inputs drawn, of the same shape; positive wherever some are left.
        risk: Probability that there are more.

    >>> round(unseen(np.array([50_000.0]), np.array([10_000.0]), 0.001), 1)  # ln(1000) / ln(1.2)
    37.9
    """
    some = left > 0
    return float((np.log(1 / risk) / np.log1p(count[some] / left[some])).max(initial=0.0))


def extrapolated(moves: Floats, sureness: Floats, risk: float) -> float:
    """Bounds the number of changed answers in a stratum by how far the margins in its sample moved.

    An answer changes only if its margin moves by at least its sureness.

    Args:
        moves: Moves of the inputs drawn, ``(k,)``.
        sureness: Sureness of the inputs not drawn, ``(n,)``.
        risk: Probability that the bound fails.

    Returns:
        A bound of the expected number of changed answers among the inputs not drawn.
    """
    if len(sureness) <= BINS:
        return float(tail_bound(moves, sureness, risk).sum())
    # For speed, all inputs of a bin count like the least sure one, which can only raise the bound.
    least = np.quantile(sureness, np.arange(BINS) / BINS, method="lower")
    return float(tail_bound(moves, least, risk).sum() * len(sureness) / BINS)


def hidden(expected: float, risk: float) -> int:
    """Upper bound of the number of changed answers at the stated risk, from a bound of their expected number.

    The tail of the Poisson distribution bounds that of any independent rare events beyond their mean (Anderson and
    Samuels, 1967). The bound is 0 only if even the expected number is at most the risk.

    >>> hidden(1e-6, 1e-3), hidden(0.5, 1e-3)
    (0, 4)
    """
    return 0 if expected <= risk else max(1, int(stats.poisson.isf(risk, expected)))


def surprising(moves: Floats, changed: npt.NDArray[np.bool_], sureness: float) -> bool:
    """Whether answers changed although the other moves in the sample make this very unlikely."""
    calm = moves[~changed]
    return bool(changed.any()) and float(tail_bound(calm, [sureness], SURPRISE)[0]) * len(moves) < SURPRISE
