"""The notice rate: the share of faults of a given cost that a test set notices.

A fault costs what it loses on inputs that are independent of the test set. It is noticed if a one-sided exact McNemar
test against its own original is significant on the test set. The rate is the mean over bins of cost, so that it does
not depend on how many faults happen to fall into each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.core.stats.intervals import Interval, check_level
from mutiny.core.stats.samples import Floats

POINTS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Edges of the bins, in accuracy points; cheaper faults are harmless, costlier ones drastic."""
METHOD = "jackknife-t on the logit"
LARGEST_PLAN = 10**8
"""More inputs than anybody collects to notice a loss."""


@dataclass(frozen=True)
class NoticeBin:
    """Faults whose cost lies in ``[low, high)``.

    >>> NoticeBin(0.5, 1.0, faults=8, noticed=6).rate
    0.75
    """

    low: float
    high: float
    faults: int
    noticed: int

    @property
    def rate(self) -> float | None:
        """Share of the faults that are noticed; ``None`` without faults."""
        return self.noticed / self.faults if self.faults else None


def mcnemar_worse(broken: ArrayLike, repaired: ArrayLike) -> Floats:
    """One-sided exact McNemar test of whether a fault makes answers worse.

    ``P(X >= broken)`` for ``X ~ Binomial(broken + repaired, 1/2)``. Inputs whose answer does not change do not matter.

    Args:
        broken: Inputs that the original gets right and the fault gets wrong; any shape.
        repaired: Inputs that the original gets wrong and the fault gets right; a shape that broadcasts.

    Returns:
        The p-values; 1 where nothing changes.

    >>> mcnemar_worse([5, 5, 0], [0, 5, 0]).round(4)
    array([0.0312, 0.623 , 1.    ])
    """
    worse, better = np.broadcast_arrays(np.asarray(broken, np.int64), np.asarray(repaired, np.int64))
    if (worse < 0).any() or (better < 0).any():
        raise BadInput("broken, repaired", "a negative count", "counts of inputs")
    with np.errstate(invalid="ignore"):
        tail = special.bdtrc(np.maximum(worse - 1, 0), worse + better, 0.5)
    return np.where(worse > 0, tail, 1.0)


def notice_bins(costs: ArrayLike, noticed: ArrayLike, edges: Sequence[float] = POINTS) -> tuple[NoticeBin, ...]:
    """Counts the faults of each bin, and those that are noticed; faults outside all bins are left out.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        noticed: Whether each fault is noticed, ``(faults,)``.
        edges: Ascending edges of the bins.

    >>> [(one.faults, one.noticed) for one in notice_bins([0.1, 0.5, 0.9, 3.0, 20.0], [0, 1, 0, 1, 1])]
    [(2, 1), (0, 0), (1, 1), (0, 0)]
    """
    faults, seen = _counts(*_checked(costs, noticed), edges)
    return tuple(
        NoticeBin(float(low), float(high), int(number), int(hits))
        for (low, high), number, hits in zip(pairwise(edges), faults, seen, strict=True)
    )


def notice_rate(costs: ArrayLike, noticed: ArrayLike, edges: Sequence[float] = POINTS) -> float | None:
    """Mean over the bins of the share of faults that are noticed.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        noticed: Whether each fault is noticed, ``(faults,)``.
        edges: Ascending edges of the bins.

    Returns:
        The rate over bins that have faults; ``None`` if none has.

    >>> notice_rate([0.6, 0.7, 3.0], [True, False, True])
    0.75
    """
    return _rate(*_counts(*_checked(costs, noticed), edges))


def notice_interval(
    costs: ArrayLike,
    noticed: ArrayLike,
    units: ArrayLike,
    *,
    edges: Sequence[float] = POINTS,
    level: float = 0.95,
    other_variance: float = 0.0,
) -> Interval | None:
    """Interval of the notice rate over units such as originals: delete-one jackknife, Student's t, logit scale.

    Faults of one original resemble each other, so originals are deleted, not faults. The interval is never narrower
    than that of independent faults, because a few units may agree by chance.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        noticed: Whether each fault is noticed, ``(faults,)``.
        units: Unit of each fault, such as the number of its original, ``(faults,)``.
        edges: Ascending edges of the bins.
        level: Confidence, in (0, 1).
        other_variance: Variance to add on the logit scale, see `variance_over_inputs`.

    Returns:
        The interval; ``None`` without faults in the bins, or if they all belong to one unit.

    >>> costs, noticed = [0.7, 1.5, 3.0, 6.0] * 4, [0, 1, 1, 1, 0, 0, 1, 1] * 2
    >>> interval = notice_interval(costs, noticed, np.repeat(range(4), 4))
    >>> round(interval.low, 2), round(interval.high, 2)
    (0.4, 0.8)
    """
    check_level(level)
    prices, seen = _checked(costs, noticed)
    groups = np.asarray(units)
    if groups.shape != prices.shape:
        raise BadInput("units", f"shape {groups.shape}", f"one unit for each fault, shape {prices.shape}")
    counted = (prices >= edges[0]) & (prices < edges[-1])
    labels, place = np.unique(groups[counted], return_inverse=True)
    if len(labels) < 2:
        return None
    prices, seen = prices[counted], seen[counted]
    parts = np.array([_counts(prices[place == unit], seen[place == unit], edges) for unit in range(len(labels))])
    faults, hits = parts.sum(0)
    center = _logit(faults, hits)
    left_out = np.array([_logit(faults - part[0], hits - part[1]) for part in parts])
    units_left = len(labels)
    jackknife = (units_left - 1) / units_left * float(((left_out - left_out.mean()) ** 2).sum())
    student, normal = special.stdtrit(units_left - 1, (1 + level) / 2), special.ndtri((1 + level) / 2)
    half = math.sqrt(max(student**2 * jackknife, normal**2 * _independent(faults, hits)) + student**2 * other_variance)
    return Interval(float(special.expit(center - half)), float(special.expit(center + half)), level, METHOD)


def variance_over_inputs(
    costs: ArrayLike,
    fault: ArrayLike,
    position: ArrayLike,
    change: ArrayLike,
    inputs: int,
    seed: int,
    *,
    alpha: float = 0.05,
    edges: Sequence[float] = POINTS,
    resamples: int = 200,
) -> float:
    """Variance of the logit of the notice rate over test sets drawn like this one, by a bootstrap over inputs.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        fault: Fault of each changed answer, ``(changes,)``.
        position: Position of its input in the test set, ``(changes,)``.
        change: -1 where the fault breaks the answer, 1 where it repairs it, ``(changes,)``.
        inputs: Size of the test set.
        seed: Seed of everything random.
        alpha: Significance level of the test that notices a fault.
        edges: Ascending edges of the bins.
        resamples: Number of resamples.

    Returns:
        The variance; 0 if no fault falls into the bins.

    >>> variance_over_inputs([1.5], [0] * 8, range(8), [-1] * 8, 100, 0) > 0
    True
    """
    prices = np.asarray(costs, float)
    which, where, sign = (np.asarray(values, np.int64) for values in (fault, position, change))
    if not ((prices >= edges[0]) & (prices < edges[-1])).any():
        return 0.0
    rng = generator_for(seed, "notice rate of other inputs")
    drawn = []
    for _ in range(resamples):
        weight = np.bincount(rng.integers(0, inputs, inputs), minlength=inputs)[where]
        broken, repaired = (
            np.bincount(which[sign == side], weight[sign == side], len(prices)).astype(np.int64) for side in (-1, 1)
        )
        drawn.append(_logit(*_counts(prices, mcnemar_worse(broken, repaired) < alpha, edges)))
    return float(np.var(drawn, ddof=1))


def inputs_to_notice(cost: float, repairs: float, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Number of test inputs that notice a loss with a given probability.

    Args:
        cost: Loss as a share of all inputs, in (0, 1); 0.01 is one accuracy point.
        repairs: Repaired answers per broken answer, at least 0 and below 1.
        power: Required probability of noticing the fault.
        alpha: Significance level of the test that notices a fault.

    Returns:
        The number of inputs; ``None`` if such a fault cannot exist or more than 100 million inputs were needed.

    >>> inputs_to_notice(0.02, 0.1), inputs_to_notice(0.01, 0.1)
    (415, 830)
    """
    if not 0 < cost < 1:
        raise BadInput("cost", cost, "a share between 0 and 1")
    if not 0 <= repairs < 1:
        raise BadInput("repairs", repairs, "at least 0 and below 1")
    broken = cost / (1 - repairs)
    changed = broken * (1 + repairs)
    if changed >= 1:
        return None
    low, high = 1, 64
    while notice_power(high, broken, changed - broken, alpha) < power:
        low, high = high, high * 2
        if high > LARGEST_PLAN:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if notice_power(middle, broken, changed - broken, alpha) >= power else (middle, high)
    return high


def notice_power(inputs: int, broken: float, repaired: float, alpha: float = 0.05) -> float:
    """Probability that a test set of independent inputs notices a fault.

    Args:
        inputs: Size of the test set.
        broken: Probability that the fault breaks the answer to an input.
        repaired: Probability that it repairs the answer.
        alpha: Significance level of the test.

    >>> round(notice_power(100, 0.05, 0.0), 3)  # 5 of 5 changed answers are needed
    0.564
    """
    rate = broken + repaired
    if rate <= 0:
        return 0.0
    spread = 8 * math.sqrt(inputs * rate * (1 - rate)) + 10
    changed = np.arange(max(0, int(inputs * rate - spread)), min(inputs, int(inputs * rate + spread)) + 1)
    chance = special.bdtr(changed, inputs, rate)
    chance = np.diff(chance, prepend=special.bdtr(changed[0] - 1, inputs, rate) if changed[0] else 0.0)
    needed = _critical(changed, alpha)
    detected = np.where(needed <= changed, special.bdtrc(np.maximum(needed - 1, 0), changed, broken / rate), 0.0)
    return float((chance * detected).sum())


def _critical(changed: NDArray[np.int64], alpha: float) -> NDArray[np.int64]:
    """Smallest number of broken answers that is significant among ``changed`` ones; more than those if none is."""
    low, high = changed // 2, changed + 1  # low is never significant, since P(X >= n // 2) is at least 1/2
    while (high - low > 1).any():
        middle = (low + high) // 2
        significant = mcnemar_worse(middle, changed - middle) < alpha
        low, high = np.where(significant, low, middle), np.where(significant, middle, high)
    return np.asarray(high, np.int64)


def _checked(costs: ArrayLike, noticed: ArrayLike) -> tuple[Floats, NDArray[np.bool_]]:
    prices, seen = np.asarray(costs, float), np.asarray(noticed, bool)
    if prices.ndim != 1 or prices.shape != seen.shape:
        raise BadInput("costs, noticed", f"shapes {prices.shape}, {seen.shape}", "two vectors of the same length")
    return prices, seen


def _counts(costs: Floats, noticed: NDArray[np.bool_], edges: Sequence[float]) -> tuple[Floats, Floats]:
    """Faults, and noticed faults, of each bin."""
    place = np.searchsorted(edges, costs, side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    size = len(edges) - 1
    return (
        np.bincount(place[inside], minlength=size).astype(float),
        np.bincount(place[inside & noticed], minlength=size).astype(float),
    )


def _rate(faults: Floats, noticed: Floats) -> float | None:
    filled = faults > 0
    return float((noticed[filled] / faults[filled]).mean()) if filled.any() else None


def _logit(faults: Floats, noticed: Floats) -> float:
    """Logit of the rate, moved towards one half by half a fault, so that it is finite."""
    rate, total = _rate(faults, noticed), faults.sum()
    return float(special.logit(((0.0 if rate is None else rate) * total + 0.5) / (total + 1)))


def _independent(faults: Floats, noticed: Floats) -> float:
    """Variance of the logit if faults were independent, by the delta method; half a fault is added to both sides."""
    filled = faults > 0
    bins = filled.sum()
    size = faults[filled] + 1 / bins
    share = (noticed[filled] + 0.5 / bins) / size
    center = special.expit(_logit(faults, noticed))
    return float((share * (1 - share) / size).sum() / bins**2 / (center * (1 - center)) ** 2)
