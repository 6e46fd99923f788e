"""Calibration of a gate: faults that it misses, false alarms, and the same for all other bounds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval, clopper_pearson
from mutiny.core.stats.gate_curve import BoundRule, operating_curve, tightest_bound
from mutiny.core.stats.intervals import check_level
from mutiny.core.stats.notice import POINTS, notice_interval, notice_rate
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.alarm_interval import alarms_of
from mutiny.verbs.assess.gates.calibration import GateAdvice, GateBin, GateCalibration, GateCurve
from mutiny.verbs.assess.gates.conditions import GateComparison
from mutiny.verbs.assess.gates.expression import GateExpression
from mutiny.verbs.assess.gates.harmless_trials import AlarmSource, HarmlessTrials
from mutiny.verbs.assess.gates.round_bound import rounded_loosely

MOST_BOUNDS = 400
"""Most bounds of a curve that are kept, evenly spread over those that occur."""


def calibrate_gate(
    gate: GateExpression,
    costs: ArrayLike,
    passed: ArrayLike,
    values: ArrayLike | None = None,
    *,
    clean: Iterable[float] = (),
    harmless: Sequence[HarmlessTrials] = (),
    units: ArrayLike | None = None,
    predicted: ArrayLike | None = None,
    edges: Sequence[float] = POINTS,
    unit: str = "accuracy points",
    wanted: float = 0.01,
    advise_on: AlarmSource | None = None,
    level: float = 0.95,
) -> GateCalibration:
    """The calibration of a gate.

    Args:
        gate: The gate.
        costs: Cost of each fault, ``(faults,)``, in the unit of ``edges``.
        passed: Whether each fault passes the gate, ``(faults,)``.
        values: Value of the metric for each fault, ``(faults,)``; needed for the curve.
        clean: Value of the metric for each original.
        harmless: Harmless changes, by source.
        units: Original or random choice of each fault, ``(faults,)``; needed for the interval of the miss rate.
        predicted: Probability of each fault to pass, predicted from its cost, ``(faults,)``.
        edges: Ascending edges of the bins of costs.
        unit: Unit of costs.
        wanted: Largest rate of false alarms that the advised bound may have.
        advise_on: Source of the false alarms that the advised bound is about; by default the first that is not trivial.
        level: Confidence of intervals.

    >>> from mutiny.verbs.assess.gates.grammar import parse_gate
    >>> found = calibrate_gate(parse_gate("drop <= 2pt"), [1.5, 1.5, 3.0], [True, False, False], [0.01, 0.03, 0.04])
    >>> [(each.faults, each.missed) for each in found.bins], found.miss_rate
    ([(0, 0), (2, 1), (1, 0), (0, 0)], 0.25)
    """
    check_level(level)
    prices, passing = np.asarray(costs, float), np.asarray(passed, bool)
    if prices.ndim != 1 or prices.shape != passing.shape:
        raise BadInput("costs, passed", f"shapes {prices.shape}, {passing.shape}", "two vectors of the same length")
    chances = None if predicted is None else np.asarray(predicted, float)
    single = gate.thresholds
    curve = advice = None
    if single is not None and values is not None:
        reached = np.asarray(values, float)
        curve = _curve(single, prices, reached, harmless, edges)
        chosen = _chosen(harmless, advise_on)
        if chosen is not None:
            advice = _advice(gate, single, prices, reached, chosen, edges, wanted, level)
    return GateCalibration(
        gate=gate.text,
        unit=unit,
        clean=tuple(float(value) for value in clean),
        miss_rate=_miss_rate(prices, passing, edges),
        interval=None if units is None else _miss_interval(prices, passing, units, edges, level),
        bins=_bins(prices, passing, chances, edges, level),
        alarms=tuple(alarms_of(trials, trials.passed, level) for trials in harmless),
        curve=curve,
        advice=advice,
    )


def _miss_rate(costs: Floats, passed: NDArray[np.bool_], edges: Sequence[float]) -> float | None:
    noticed = notice_rate(costs, ~passed, edges)
    return None if noticed is None else 1 - noticed


def _miss_interval(
    costs: Floats, passed: NDArray[np.bool_], units: ArrayLike, edges: Sequence[float], level: float
) -> Interval | None:
    noticed = notice_interval(costs, ~passed, units, edges=edges, level=level)
    return None if noticed is None else Interval(1 - noticed.high, 1 - noticed.low, noticed.level, noticed.method)


def _bins(
    costs: Floats, passed: NDArray[np.bool_], predicted: Floats | None, edges: Sequence[float], level: float
) -> tuple[GateBin, ...]:
    bins = []
    for low, high in pairwise(edges):
        inside = (costs >= low) & (costs < high)
        faults, missed = int(inside.sum()), int((inside & passed).sum())
        chance = None if predicted is None or not faults else float(predicted[inside].mean())
        rate, interval = (missed / faults, clopper_pearson(missed, faults, level)) if faults else (None, None)
        bins.append(GateBin(float(low), float(high), faults, missed, rate, interval, chance))
    return tuple(bins)


def _curve(
    single: GateComparison, costs: Floats, values: Floats, harmless: Sequence[HarmlessTrials], edges: Sequence[float]
) -> GateCurve:
    rule, changes = (
        single.rule,
        {str(trials.source): trials.values for trials in harmless if not trials.trivial and len(trials.values)},
    )
    whole = operating_curve(costs, values, changes, rule, edges=edges)
    kept = np.unique(np.linspace(0, max(0, len(whole.bounds) - 1), MOST_BOUNDS).round().astype(int))
    bounds = np.append(whole.bounds[kept[: len(whole.bounds)]], single.bound)
    curve = operating_curve(costs, values, changes, rule, edges=edges, bounds=bounds)
    return GateCurve(
        bounds=tuple(curve.bounds.tolist()),
        miss_rates=_defined(curve.misses),
        bin_miss_rates=tuple(_defined(column) for column in curve.bin_misses.T),
        alarm_rates={name: tuple(rates.tolist()) for name, rates in curve.alarms.items()},
    )


def _defined(values: Floats) -> tuple[float | None, ...]:
    return tuple(None if math.isnan(value) else value for value in values.tolist())


def _chosen(harmless: Sequence[HarmlessTrials], source: AlarmSource | None) -> HarmlessTrials | None:
    fitting = [
        trials for trials in harmless if not trials.trivial and len(trials.values) and source in (None, trials.source)
    ]
    return fitting[0] if fitting else None


def _advice(
    gate: GateExpression,
    single: GateComparison,
    costs: Floats,
    values: Floats,
    trials: HarmlessTrials,
    edges: Sequence[float],
    wanted: float,
    level: float,
) -> GateAdvice | None:
    rule: BoundRule = single.rule
    tightest = tightest_bound(trials.values, wanted, rule, values)
    if tightest is None:
        return None
    low, high = single.metric.range
    seen = np.concatenate([trials.values, values])
    bound = min(max(rounded_loosely(tightest[0], rule, seen), low), high)
    passed = rule.passes(values, bound)
    return GateAdvice(
        gate=gate.with_bound(bound).text,
        bound=bound,
        wanted=wanted,
        alarms=alarms_of(trials, rule.passes(trials.values, bound), level),
        miss_rate=_miss_rate(costs, passed, edges),
        bins=_bins(costs, passed, None, edges, level),
    )
