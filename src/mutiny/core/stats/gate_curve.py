"""The operating curve of a bound on a metric: which faults and which harmless changes pass it, for all bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput
from mutiny.core.stats.notice import POINTS
from mutiny.core.stats.samples import ROUNDING, Floats


@dataclass(frozen=True)
class BoundRule:
    """Which values pass a bound.

    Attributes:
        upper: Whether values must be below the bound (``<=``, ``<``) rather than above it.
        strict: Whether the bound itself fails (``<``, ``>``).

    >>> BoundRule(upper=True).passes([0.01, 0.02, 0.03], 0.02).tolist()
    [True, True, False]
    """

    upper: bool
    strict: bool = False

    def passes(self, values: ArrayLike, bound: float) -> NDArray[np.bool_]:
        """Which values pass; one that differs by rounding is equal, and NaN does not pass.

        Args:
            values: Values of the metric, ``(n,)``.
            bound: The bound.
        """
        given = np.asarray(values, float)
        equal = np.abs(given - bound) <= ROUNDING * max(1.0, abs(bound))
        beyond = given < bound if self.upper else given > bound
        return np.asarray(beyond & ~equal if self.strict else beyond | equal)

    def tight_to_loose(self, bounds: ArrayLike) -> Floats:
        """Distinct finite bounds, from the one that fewest values pass to the one that most pass."""
        given = np.asarray(bounds, float).ravel()
        distinct = np.unique(given[np.isfinite(given)])
        return distinct if self.upper else distinct[::-1]


@dataclass(frozen=True, eq=False)
class OperatingCurve:
    """Error rates by bound.

    Attributes:
        bounds: Bounds from tight to loose, ``(k,)``.
        misses: Share of faults that pass, mean of the bins that have faults, ``(k,)``; NaN without faults.
        bin_misses: Share of the faults of each bin that pass, ``(k, bins)``; NaN for a bin without faults.
        alarms: Share of the harmless changes that do not pass, ``(k,)``, by the name of their source.
    """

    bounds: Floats
    misses: Floats
    bin_misses: Floats
    alarms: Mapping[str, Floats]


def operating_curve(
    costs: ArrayLike,
    values: ArrayLike,
    harmless: Mapping[str, ArrayLike],
    rule: BoundRule,
    *,
    edges: Sequence[float] = POINTS,
    bounds: ArrayLike | None = None,
) -> OperatingCurve:
    """Miss rates and false-alarm rates for all bounds that matter. A looser bound misses more and alarms less.

    Args:
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        values: Value of the metric for each fault, ``(faults,)``.
        harmless: Values of the metric for harmless changes, by the name of their source.
        rule: Which values pass a bound.
        edges: Ascending edges of the bins of costs; faults outside are left out.
        bounds: Bounds; by default all values that occur.

    >>> rule = BoundRule(upper=True)
    >>> curve = operating_curve([1.5, 1.5, 3.0], [0.01, 0.02, 0.04], {"variants": [0.0, 0.01]}, rule)
    >>> curve.bounds.tolist(), curve.misses.tolist(), curve.alarms["variants"].tolist()
    ([0.0, 0.01, 0.02, 0.04], [0.0, 0.25, 0.5, 1.0], [0.5, 0.0, 0.0, 0.0])
    """
    prices, reached = np.asarray(costs, float), np.asarray(values, float)
    if prices.ndim != 1 or prices.shape != reached.shape:
        raise BadInput("costs, values", f"shapes {prices.shape}, {reached.shape}", "two vectors of the same length")
    changes = {name: np.asarray(given, float).ravel() for name, given in harmless.items()}
    inside = (prices >= edges[0]) & (prices < edges[-1])
    every = np.concatenate([reached[inside], *changes.values()]) if bounds is None else bounds
    tried = rule.tight_to_loose(every)
    columns = [_passing(reached[(prices >= low) & (prices < high)], tried, rule) for low, high in pairwise(edges)]
    bin_misses = np.stack(columns, axis=1)
    filled = ~np.isnan(bin_misses).all(0) if len(tried) else np.zeros(len(columns), bool)
    misses = bin_misses[:, filled].mean(1) if filled.any() else np.full(len(tried), math.nan)
    alarms = {name: 1 - _passing(given, tried, rule) for name, given in changes.items()}
    return OperatingCurve(tried, misses, bin_misses, alarms)


def _passing(values: Floats, bounds: Floats, rule: BoundRule) -> Floats:
    """Share of the values that pass each bound; NaN without values."""
    if not len(values):
        return np.full(len(bounds), math.nan)
    ordered = np.sort(values[~np.isnan(values)])
    slack = ROUNDING * np.maximum(1.0, np.abs(bounds))
    if rule.upper:
        number = (
            np.searchsorted(ordered, bounds - slack, "left")
            if rule.strict
            else np.searchsorted(ordered, bounds + slack, "right")
        )
    else:
        below = (
            np.searchsorted(ordered, bounds + slack, "right")
            if rule.strict
            else np.searchsorted(ordered, bounds - slack, "left")
        )
        number = len(ordered) - below
    return np.asarray(number / len(values))


def tightest_bound(
    harmless: ArrayLike, wanted: float, rule: BoundRule, others: ArrayLike = ()
) -> tuple[float, int] | None:
    """The tightest observed bound that at most a wanted share of harmless changes fails.

    Nothing is interpolated: a bound is an observed value of a harmless change. As the number of changes that fail it
    follows from ``wanted`` alone, Clopper and Pearson's interval of their share holds although the bound was chosen.

    Args:
        harmless: Values of the metric for harmless changes, ``(trials,)``.
        wanted: Largest share of them that may fail.
        rule: Which values pass a bound.
        others: Other values that may serve as bounds; only if the rule is strict, as then an observed value fails
            itself.

    Returns:
        The bound, and how many harmless changes fail it; ``None`` if no bound will do.

    >>> tightest_bound([0.0, 0.001, 0.002, 0.009], 0.25, BoundRule(upper=True))
    (0.002, 1)
    """
    values = np.asarray(harmless, float).ravel()
    if not 0 <= wanted < 1:
        raise BadInput("wanted", wanted, "a share from 0 to 1")
    candidates = np.concatenate([values, np.asarray(others, float).ravel()]) if rule.strict else values
    tried = rule.tight_to_loose(candidates)
    if not len(values):
        return None
    failing = np.rint((1 - _passing(values, tried, rule)) * len(values)).astype(int)
    fine = np.flatnonzero(failing <= wanted * len(values) * (1 + ROUNDING))
    return (float(tried[fine[0]]), int(failing[fine[0]])) if len(fine) else None
