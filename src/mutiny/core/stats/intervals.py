"""Confidence intervals of shares, of differences of shares, and of any statistic by the bootstrap."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import norm

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.core.stats.samples import Floats, sample

BATCH = 2**22
"""Values resampled at a time, which bounds the memory."""
ALMOST_ONE = 1 - 1e-12


@dataclass(frozen=True)
class Interval:
    """A confidence interval from ``low`` to ``high``.

    Args:
        low: Lower end.
        high: Upper end, not below ``low``.
        level: Nominal coverage, in (0, 1).
        method: Name of the method, e.g. ``"wilson"``.

    >>> Interval(0.2, 0.6, level=0.95, method="wilson").width
    0.39999999999999997
    """

    low: float
    high: float
    level: float
    method: str

    @property
    def width(self) -> float:
        """Difference between both ends."""
        return self.high - self.low


def wilson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Wilson's interval of a share, good also near 0 and 1 and for small n.

    ``(p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n)``

    Args:
        successes: Number of successes.
        n: Number of trials; 0 gives the interval from 0 to 1.
        level: Confidence, in (0, 1).

    Returns:
        An interval inside [0, 1].

    >>> wilson(8, 10)
    Interval(low=0.490..., high=0.943..., level=0.95, method='wilson')
    """
    low, high = wilson_bounds(successes, n, level)
    return Interval(float(low), float(high), level, "wilson")


def wilson_bounds(successes: ArrayLike, n: ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Both ends of :func:`wilson` for many shares at once.

    Args:
        successes: Numbers of successes, any shape.
        n: Numbers of trials, one number or a shape that broadcasts; 0 gives the interval from 0 to 1.
        level: Confidence, in (0, 1).

    Returns:
        Lower and upper ends, arrays of the common shape inside [0, 1].

    >>> low, high = wilson_bounds([0, 8, 10], 10)
    >>> low.round(3), high.round(3)
    (array([0.   , 0.49 , 0.722]), array([0.278, 0.943, 1.   ]))
    """
    check_level(level)
    hits, tries = np.asarray(successes, dtype=np.float64), np.asarray(n, dtype=np.float64)
    try:
        hits, tries = np.broadcast_arrays(hits, tries)
    except ValueError:
        raise BadInput("n", f"shape {tries.shape}", f"one number, or a shape that fits {hits.shape}") from None
    bad = ~((hits >= 0) & (hits <= tries) & np.isfinite(tries))
    if bad.any():
        raise BadInput("successes, n", (hits[bad][0], tries[bad][0]), "counts with 0 <= successes <= n")
    z, some = float(stats.norm.isf((1 - level) / 2)), np.maximum(tries, 1)
    p = hits / some
    center, half = p + z * z / (2 * some), z * np.sqrt(p * (1 - p) / some + z * z / (4 * some * some))
    low, high = ((center + side * half) / (1 + z * z / some) for side in (-1, 1))
    # With nothing or everything seen, an end is exactly 0 or 1; rounding must not say otherwise.
    return np.where(hits > 0, np.maximum(low, 0), 0.0), np.where(hits < tries, np.minimum(high, 1), 1.0)


def percentile_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """Percentile interval from given values of a statistic on resamples.

    Args:
        samples: Statistic on each resample, ``(resamples,)``; all must be finite.
        level: Confidence, in (0, 1).

    Returns:
        The quantiles (1 - level) / 2 and (1 + level) / 2.

    >>> percentile_interval(range(101), level=0.5)
    Interval(low=25.0, high=75.0, level=0.5, method='percentile')
    """
    check_level(level)
    low, high = np.quantile(sample(samples, "samples"), [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(max(low, high)), level, "percentile")


def bootstrap(
    values: ArrayLike,
    statistic: Callable[..., Any],
    seed: int,
    *keys: str | int,
    level: float = 0.95,
    resamples: int = 2000,
    method: Literal["percentile", "bca"] = "percentile",
) -> Interval:
    """Bootstrap interval of any statistic of one sample (Efron; "bca" corrects bias and skewness).

    Args:
        values: Sample, ``(n,)``.
        statistic: Function of an array ``(n,)``; with a parameter ``axis``, it gets ``(batch, n)`` and ``axis=-1``.
        seed: Seed of everything random.
        keys: Purpose, as in :func:`mutiny.core.random.generator_for`.
        level: Confidence, in (0, 1).
        resamples: Number of resamples.
        method: ``"percentile"`` or ``"bca"``. If all resamples agree, both give that point.

    Returns:
        The interval; an undefined statistic (NaN, infinite) is an error.

    >>> bootstrap([1.0, 2.0, 3.0, 4.0], np.mean, 0, "demo")
    Interval(low=1.5, high=3.5, level=0.95, method='percentile')
    """
    check_level(level)
    data = sample(values, "values")
    if resamples < 1:
        raise BadInput("resamples", resamples, "at least 1")
    if method not in ("percentile", "bca"):
        raise BadInput("method", repr(method), '"percentile" or "bca"')
    rng, size = generator_for(seed, *keys), max(1, BATCH // data.size)
    sizes = [min(size, resamples - done) for done in range(0, resamples, size)]
    drawn = np.concatenate([_apply(statistic, data[rng.integers(0, data.size, (rows, data.size))]) for rows in sizes])
    if not np.isfinite(drawn).all():
        raise BadInput(
            "statistic",
            "NaN or infinity on a resample",
            "a statistic defined for every resample",
            "Draw the resamples yourself and use percentile_interval.",
        )
    if method == "percentile" or data.size == 1:
        return Interval(*_ends(drawn, (1 - level) / 2, (1 + level) / 2), level, method)
    return Interval(*_ends(drawn, *_bca_levels(data, statistic, drawn, level)), level, method)


def _bca_levels(data: Floats, statistic: Callable[..., Any], drawn: Floats, level: float) -> tuple[float, float]:
    """Corrected quantiles: ``Φ(z0 + (z0 + z) / (1 - a (z0 + z)))``, with the acceleration a from the jackknife."""
    observed = _apply(statistic, data[None])[0]
    share = ((drawn < observed).mean() + (drawn <= observed).mean()) / 2
    least = 0.5 / drawn.size  # an estimate outside all resamples would make the bias infinite
    bias = float(stats.norm.ppf(np.clip(share, least, 1 - least)))
    size = max(1, BATCH // data.size)
    others = np.arange(data.size - 1)
    left_out = np.concatenate(
        [
            _apply(statistic, data[others + (others >= np.arange(start, min(start + size, data.size))[:, None])])
            for start in range(0, data.size, size)
        ]
    )
    influence = left_out.mean() - left_out
    spread = float((influence**2).sum()) ** 1.5
    acceleration = float((influence**3).sum()) / (6 * spread) if spread > 0 else 0.0
    shifted = bias + np.array([-1.0, 1.0]) * float(stats.norm.isf((1 - level) / 2))
    low, high = stats.norm.cdf(bias + shifted / np.maximum(1 - acceleration * shifted, 1e-12))
    return float(low), float(high)


def _apply(statistic: Callable[..., Any], rows: Floats) -> Floats:
    try:
        vectorized = "axis" in inspect.signature(statistic).parameters
    except ValueError:  # a builtin without a signature
        vectorized = False
    results = statistic(rows, axis=-1) if vectorized else [statistic(row) for row in rows]
    return np.asarray(results, dtype=np.float64)


def _ends(drawn: Floats, low: float, high: float) -> tuple[float, float]:
    ends = np.quantile(drawn, [low, high])
    return float(ends.min()), float(ends.max())


def check_level(level: float) -> None:
    """Raises `BadInput` unless a confidence lies between 0 and 1."""
    if not 0 < level < 1:
        raise BadInput("level", level, "a confidence between 0 and 1, e.g. 0.95")


def rate_bound(successes: ArrayLike, n: ArrayLike, risk: float) -> Floats:
    """Clopper and Pearson's one-sided upper bound of a rate: too low with a probability of at most ``risk``.

    It also holds for the mean rate of trials whose rates differ (Hoeffding, 1956), such as equal samples of several
    mutant instances, and for draws without replacement.

    >>> float(rate_bound(0, 10_000, 0.001).round(6))  # no success in 10,000 trials: at most 0.07%
    0.000691
    """
    seen, size = np.asarray(successes, float), np.asarray(n, float)
    with np.errstate(invalid="ignore"):
        bound = stats.beta.ppf(1 - risk, seen + 1, np.maximum(size - seen, 0))
    return np.where(seen >= size, 1.0, bound)


def clopper_pearson(successes: int, n: int, level: float = 0.95) -> Interval:
    """Clopper and Pearson's exact interval of a share, whose coverage is at least ``level``.

    Args:
        successes: Number of successes.
        n: Number of trials; 0 gives the interval from 0 to 1.
        level: Confidence, in (0, 1).

    >>> clopper_pearson(8, 10)
    Interval(low=0.443..., high=0.974..., level=0.95, method='Clopper-Pearson')
    """
    if not 0 <= successes <= n:
        raise BadInput("successes, n", (successes, n), "counts with 0 <= successes <= n")
    check_level(level)
    risk = (1 - level) / 2
    low, high = 1 - float(rate_bound(n - successes, n, risk)), float(rate_bound(successes, n, risk))
    return Interval(low, high, level, "Clopper-Pearson")


def paired_difference(wins: int, losses: int, n: int, level: float = 0.95) -> Interval:
    """Interval of the difference of two rates on the same ``n`` items, inside [-1, 1].

    Tango's score interval (Statistics in Medicine, 1998), widened to that of the exact test on items that differ
    (McNemar's, by Clopper and Pearson) where that is wider: an interval that lies above 0 is significant by both.

    Args:
        wins: Items on which the first is right and the second is not.
        losses: Items on which the second is right and the first is not.
        n: Number of items; 0 gives the interval from -1 to 1.
        level: Confidence, in (0, 1).

    >>> interval = paired_difference(12, 2, 80)
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.025, 0.224)
    """
    method = "Tango and Clopper-Pearson"
    if not n:
        return Interval(-1.0, 1.0, level, method)
    z = float(norm.isf((1 - level) / 2))
    low = _tango_end(wins, losses, n, z) if wins - losses > -n else -1.0
    high = -_tango_end(losses, wins, n, z) if losses - wins > -n else 1.0
    share, differ = clopper_pearson(wins, wins + losses, level), (wins + losses) / n
    exact = [(2 * end - 1) * differ for end in (share.low, share.high)]
    return Interval(min(low, exact[0]) + 0.0, max(high, exact[1]) + 0.0, level, method)


def _tango_end(wins: int, losses: int, n: int, z: float) -> float:
    """The smallest difference that a score test does not reject."""

    def beyond(difference: float) -> float:
        b = (2 * n - wins + losses) * difference - wins - losses
        c = -losses * difference * (1 - difference)
        rare = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        spread = math.sqrt(max(1e-300, n * (2 * rare + difference * (1 - difference))))
        return (wins - losses - n * difference) / spread - z

    return float(brentq(beyond, -ALMOST_ONE, (wins - losses) / n, xtol=1e-12)) if beyond(-ALMOST_ONE) > 0 else -1.0


@dataclass(frozen=True)
class Rate:
    """A share of a sample, with Clopper and Pearson's interval of the share in the population.

    >>> Rate.of([True, False, True, True]).value
    0.75
    """

    count: int
    total: int
    interval: Interval

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise BadInput("count", self.count, f"at least 0, and at most the total, {self.total}")

    @property
    def value(self) -> float | None:
        """The share; ``None`` for an empty sample."""
        return self.count / self.total if self.total else None

    @classmethod
    def of(cls, which: ArrayLike) -> Rate:
        """The share of true values."""
        flags = np.asarray(which, bool)
        count, total = int(flags.sum()), flags.size
        return cls(count, total, clopper_pearson(count, total))

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"value": self.value, "count": self.count, "total": self.total, "interval": vars(self.interval)}
