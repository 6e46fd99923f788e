"""The notice rate: the share of faults of a given cost that a test set notices.

A fault costs what it loses on inputs that are independent of the test set. It is noticed if a one-sided paired test
against its own original is significant on the test set: McNemar's exact test for answers that are right or wrong, a
t-test for losses. The rate is the mean over bins of cost, so that it does not depend on how many faults happen to fall
into each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.core.stats.intervals import Interval, check_level
from mutiny.core.stats.samples import Floats

POINTS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Edges of the bins, in accuracy points; cheaper faults are harmless, costlier ones drastic."""
METHOD = "jackknife-t on the logit"


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


def mean_worse(change: ArrayLike, tolerated: float = 0.0) -> float:
    """One-sided t-test of whether the mean loss grows by more than a tolerated amount.

    Every change of a network changes its losses, so a test against no growth at all would notice harmless changes once
    there are enough inputs.

    Args:
        change: Loss with the fault minus loss of the original for each input, ``(n,)``, with zeros where nothing
            changes. A value that is infinite or not a number makes the mean infinite: the p-value is 0.
        tolerated: Growth of the mean loss that nobody has to notice.

    Returns:
        The p-value. It is 1 for fewer than two inputs, and if the original has an infinite loss: some change is
        negative infinity, or ``tolerated`` is not finite. It is 0 or 1 if all losses grow by the same amount.

    >>> change = [0.3, 0.2, 0.5, 0.1, -0.05]
    >>> round(mean_worse(change), 4), round(mean_worse(change, tolerated=0.1), 4)
    (0.0431, 0.1506)
    """
    values = np.asarray(change, float)
    if len(values) < 2 or not math.isfinite(tolerated) or np.isneginf(values).any():
        return 1.0
    if not np.isfinite(values).all():
        return 0.0
    largest = float(np.abs(values).max()) or 1.0
    scaled = values / largest  # squares of very large or small losses are finite and not 0, equal losses exactly 1
    excess = float(scaled.mean()) - tolerated / largest
    error = float(scaled.std(ddof=1)) / math.sqrt(len(values))
    return float(special.stdtr(len(values) - 1, -excess / error)) if error > 0 else float(excess <= 0)


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


def bin_weights(costs: ArrayLike, edges: Sequence[float] = POINTS) -> Floats:
    """Weight of each fault in the notice rate, ``(faults,)``: bins count equally, and so do the faults of a bin.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        edges: Ascending edges of the bins; a fault outside has weight 0.

    >>> bin_weights([0.6, 0.7, 3.0, 20.0]).tolist()
    [0.25, 0.25, 0.5, 0.0]
    """
    prices = np.asarray(costs, float)
    faults = _counts(prices, np.zeros(len(prices), bool), edges)[0]
    place = np.searchsorted(edges, prices, side="right") - 1
    inside = (place >= 0) & (place < len(edges) - 1)
    share = 1 / np.maximum(faults, 1) / max(1, int((faults > 0).sum()))
    return np.where(inside, share[np.clip(place, 0, len(edges) - 2)], 0.0)


def rate_difference(
    costs: ArrayLike,
    before: ArrayLike,
    after: ArrayLike,
    units: ArrayLike,
    *,
    edges: Sequence[float] = POINTS,
    level: float = 0.95,
) -> tuple[float, Interval | None]:
    """Difference of two notice rates on the same faults: delete-one jackknife over units, Student's t.

    The interval is never narrower than that of independent faults, because a few units may agree by chance.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        before: Whether each fault is noticed before, or the share of several test sets that notice it, ``(faults,)``.
        after: The same afterwards.
        units: Unit of each fault, such as the number of its original, ``(faults,)``.
        edges: Ascending edges of the bins.
        level: Confidence, in (0, 1).

    Returns:
        The later rate minus the earlier one, and its interval; ``None`` if all faults belong to one unit.

    >>> value, interval = rate_difference([0.6, 0.6, 3.0, 3.0], [0, 0, 0, 1], [1, 1, 0, 1], [0, 1, 0, 1])
    >>> value, interval.low < 0.3, interval.high > 0.7
    (0.5, True, True)
    """
    check_level(level)
    prices, groups = np.asarray(costs, float), np.asarray(units)
    change = np.asarray(after, float) - np.asarray(before, float)
    value, labels = float(bin_weights(prices, edges) @ change), np.unique(groups)
    if len(labels) < 2:
        return value, None
    kept = [groups != label for label in labels]
    left_out = np.array([bin_weights(prices[rest], edges) @ change[rest] for rest in kept])
    count = len(labels)
    error = math.sqrt((count - 1) / count * float(((left_out - left_out.mean()) ** 2).sum()))
    alone = math.sqrt(_independent_difference(prices, change, edges))
    student, normal = special.stdtrit(count - 1, (1 + level) / 2), special.ndtri((1 + level) / 2)
    half = float(max(student * error, normal * alone))
    return value, Interval(max(-1.0, value - half), min(1.0, value + half), level, "jackknife-t")


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
    than that of independent faults, because a few units may agree by chance. It always contains the rate.

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
    low, high, rate = float(special.expit(center - half)), float(special.expit(center + half)), _rate(faults, hits)
    assert rate is not None
    return Interval(min(low, rate), max(high, rate), level, METHOD)


def variance_over_inputs(
    costs: ArrayLike,
    fault: ArrayLike,
    position: ArrayLike,
    change: ArrayLike,
    inputs: int,
    seed: int,
    *,
    weight: ArrayLike | None = None,
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
        weight: Number of inputs that each changed answer stands for, ``(changes,)``, if inputs were sampled.
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
    stands_for = np.ones(len(where)) if weight is None else np.asarray(weight, float)

    def noticed(times: NDArray[np.int64]) -> NDArray[np.bool_]:
        # Mean and variance of a sum over as many inputs.
        number = stands_for + np.sqrt(stands_for) * (times[where] - 1)
        broken, repaired = (
            np.rint(np.bincount(which[sign == side], number[sign == side], len(prices))).astype(np.int64)
            for side in (-1, 1)
        )
        return mcnemar_worse(broken, repaired) < alpha

    return _bootstrapped(noticed, prices, edges, inputs, seed, resamples)


def loss_variance_over_inputs(
    costs: ArrayLike,
    fault: ArrayLike,
    position: ArrayLike,
    change: ArrayLike,
    inputs: int,
    seed: int,
    *,
    tolerated: ArrayLike = 0.0,
    alpha: float = 0.05,
    edges: Sequence[float] = POINTS,
    resamples: int = 100,
) -> float:
    """The same variance if faults are noticed by `mean_worse`.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        fault: Fault of each changed loss, ``(changes,)``.
        position: Position of its input in the test set, ``(changes,)``.
        change: Loss with the fault minus loss of the original, ``(changes,)``; it is 0 for all other inputs.
        inputs: Size of the test set.
        seed: Seed of everything random.
        tolerated: Tolerated growth of the mean loss, one for all faults or ``(faults,)``.
        alpha: Significance level of the test that notices a fault.
        edges: Ascending edges of the bins.
        resamples: Number of resamples.

    Returns:
        The variance; 0 if no fault falls into the bins.

    >>> loss_variance_over_inputs([1.5], [0] * 9, range(9), [3, 1, 2, 5, -4, 6, 2, -1, 1], 20, 0) > 0
    True
    """
    prices, values = np.asarray(costs, float), np.asarray(change, float)
    which, where = np.asarray(fault, np.int64), np.asarray(position, np.int64)
    limits = np.broadcast_to(np.asarray(tolerated, float), prices.shape).copy()
    limits[which[np.isneginf(values)]] = np.inf  # as in `mean_worse`
    finite = np.isfinite(values)
    parts = (values[finite], finite), (values[finite] ** 2, finite), (np.ones((~finite).sum()), ~finite)
    growth, squares, undefined = (
        sparse.csr_array((data, (which[part], where[part])), shape=(len(prices), inputs)) for data, part in parts
    )
    critical = special.stdtrit(inputs - 1, 1 - alpha)

    def noticed(drawn: NDArray[np.int64]) -> NDArray[np.bool_]:
        times = drawn.astype(float)
        mean = growth @ times / inputs
        variance = np.maximum(squares @ times / inputs - mean**2, 0.0) / max(1, inputs - 1)  # of the mean
        seen: NDArray[np.bool_] = mean - limits > critical * np.sqrt(variance)
        seen |= (undefined @ times > 0) & np.isfinite(limits)
        return seen

    return _bootstrapped(noticed, prices, edges, inputs, seed, resamples)


def _bootstrapped(
    noticed: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    costs: Floats,
    edges: Sequence[float],
    inputs: int,
    seed: int,
    resamples: int,
) -> float:
    """Variance of the logit of the notice rate over resamples of the inputs; 0 if no fault falls into the bins.

    Args:
        noticed: Function from how many times each input is drawn, ``(inputs,)``, to which faults are noticed.
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        edges: Ascending edges of the bins.
        inputs: Size of the test set.
        seed: Seed of everything random.
        resamples: Number of resamples.
    """
    if not ((costs >= edges[0]) & (costs < edges[-1])).any():
        return 0.0
    rng = generator_for(seed, "notice rate of other inputs")
    drawn = (np.bincount(rng.integers(0, inputs, inputs), minlength=inputs) for _ in range(resamples))
    return float(np.var([_logit(*_counts(costs, noticed(times), edges)) for times in drawn], ddof=1))


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


def _independent_difference(costs: Floats, change: Floats, edges: Sequence[float]) -> float:
    """Variance of a difference if faults were independent; half a gained and half a lost fault are added."""
    place = np.searchsorted(edges, costs, side="right")
    inside = (place > 0) & (place < len(edges))
    groups = [change[place == number] for number in np.unique(place[inside])]
    total = 0.0
    for group in groups:
        more = 0.5 / len(groups)
        size = len(group) + 2 * more
        gained, lost = ((np.maximum(side * group, 0).sum() + more) / size for side in (1, -1))
        total += (gained + lost - (gained - lost) ** 2) / size
    return float(total / max(1, len(groups)) ** 2)
