"""How far a stratified sample can be off: pure functions of what was drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from mutiny.core.stats.tails import rate_bound, tail_bound

Floats = npt.NDArray[np.float64]
BINS = 16
SURPRISE = 1e-3
"""A changed answer that extrapolation held to be less likely than this is a surprise."""


@dataclass(frozen=True)
class ErrorBounds:
    """Bounds that hold together, as sums over inputs.

    Attributes:
        mean: of the sum over all instances.
        norm: of the Euclidean norm over instances.
        each: of each instance, ``(instances,)``.
    """

    mean: float
    norm: float
    each: Floats

    def plus(self, hidden: float) -> ErrorBounds:
        """With so many further changes, which may all be in one instance."""
        return ErrorBounds(self.mean + hidden, self.norm + hidden, self.each + hidden)


def flip_rates(counts: npt.NDArray[np.int64], changes: list[Floats], risk: float) -> Floats:
    """Upper bounds of the rate of changed answers in each stratum, pooled over instances, ``(strata,)``.

    It is also the mean squared change of a share that is 0 or 1, and holds where no change was seen.

    Args:
        counts: inputs drawn, ``(strata,)``.
        changes: of the inputs drawn, for each stratum.
        risk: probability that any of them is too low.
    """
    return rate_bound([np.count_nonzero(change) for change in changes], counts, risk / len(counts))


def loss_moments(changes: list[Floats], peaks: Floats, risk: float) -> Floats:
    """Upper bounds of the mean squared change of a loss in each stratum, ``(strata,)``.

    Empirical Bernstein bounds (Maurer and Pontil, 2009), given that no change is larger than the stratum's peak; where
    nothing changed in the sample, something rare still may.
    """
    bounds = peaks**2
    log = np.log(2 * len(changes) / risk)
    for stratum, change in enumerate(changes):
        n, squares, most = len(change), change**2, bounds[stratum]
        if n > 1:
            room = np.sqrt(2 * squares.var(ddof=1) * log / n) + 7 * most * log / (3 * (n - 1))
            bounds[stratum] = min(squares.mean() + room, most)
    return bounds


def bernstein(left: Floats, count: Floats, moments: Floats, own: Floats, peaks: Floats, risk: float) -> ErrorBounds:
    """Errors of sums that were extended from samples, by Bernstein's inequality.

    A sum over a stratum of ``N`` inputs, of which ``n`` were drawn, is off by ``N`` times what their mean is off: what
    was not drawn differs from the sample, too. Drawing without replacement errs no more than with (Hoeffding,
    1963), so each input drawn counts ``N / n`` times.

    Args:
        left: inputs not drawn, ``(instances, strata)``.
        count: inputs drawn, ``(instances, strata)``.
        moments: bounds of the mean squared change in each stratum, ``(strata,)``.
        own: mean squared change of each instance's own sample, ``(instances, strata)``.
        peaks: largest possible change in each stratum, ``(strata,)``.
        risk: probability that any bound is exceeded.
    """
    weight = np.divide(left + count, count, out=np.zeros_like(left), where=(count > 0) & (left > 0))
    moments = np.maximum(moments, own)  # a loud instance is not hidden by the others
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
    """Most changed answers in strata in whose samples none was seen, whatever their rates are.

    If a stratum holds ``k`` changes, a sample of it misses all with a probability of at most
    ``(left / (left + count))^k``; so the total of all ``k * ln(1 + count / left)`` is at most ``ln(1 / risk)``. That is
    for strata named beforehand: whoever names those that showed nothing divides the risk by the number of choices.

    Args:
        left: inputs not drawn, of any shape.
        count: inputs drawn, of the same shape; positive wherever some are left.
        risk: probability that there are more.

    >>> round(unseen(np.array([50_000.0]), np.array([10_000.0]), 0.001), 1)  # ln(1000) / ln(1.2)
    37.9
    """
    some = left > 0
    return float((np.log(1 / risk) / np.log1p(count[some] / left[some])).max(initial=0.0))


def extrapolated(moves: Floats, sureness: Floats, risk: float) -> float:
    """Bounds how many answers of a stratum changed by how far those in its sample moved.

    An answer changes no sooner than its margin moves by as much as its sureness.

    Args:
        moves: of the inputs drawn, ``(k,)``.
        sureness: of the inputs not drawn, ``(n,)``.
        risk: probability that the sample misleads.

    Returns:
        A bound of the expected number among the inputs not drawn.
    """
    if len(sureness) <= BINS:
        return float(tail_bound(moves, sureness, risk).sum())
    least = np.quantile(sureness, np.arange(BINS) / BINS, method="lower")  # in each part all count like the least sure
    return float(tail_bound(moves, least, risk).sum() * len(sureness) / BINS)


def hidden(expected: float, risk: float) -> int:
    """Most changed answers, at the stated risk, if that many are expected at most.

    Poisson's tail bounds that of any independent rare events beyond their mean (Anderson and Samuels, 1967). That there
    is none at all is no more certain than their expected number is small.

    >>> hidden(1e-6, 1e-3), hidden(0.5, 1e-3)
    (0, 4)
    """
    return 0 if expected <= risk else max(1, int(stats.poisson.isf(risk, expected)))


def surprising(moves: Floats, changed: npt.NDArray[np.bool_], sureness: float) -> bool:
    """Whether answers changed that the other moves of the sample make all but impossible."""
    calm = moves[~changed]
    return bool(changed.any()) and float(tail_bound(calm, [sureness], SURPRISE)[0]) * len(moves) < SURPRISE
