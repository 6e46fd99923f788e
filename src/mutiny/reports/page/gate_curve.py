"""The chart of a gate at all bounds: faults that pass, by cost, and harmless changes that fail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mutiny.reports.formatting import percent
from mutiny.reports.notice_sentences import phrases
from mutiny.reports.page.blocks import Chart
from mutiny.reports.page.pictures import Line, Lines, Point
from mutiny.verbs.assess.gates.bounds import shown_bound
from mutiny.verbs.assess.gates.calibration import GateCalibration, GateCurve
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.result import Assessment

STYLES = ("dashed", "dotted", "solid")
"""Styles of the curves of false alarms, by source."""
MARGIN = 0.15
"""Share of the width beside the bounds of interest."""


def gate_curve(result: Assessment, calibration: GateCalibration, name: str) -> Chart:
    """The operating curve of a gate with one comparison.

    Args:
        result: Assessment, for the unit of costs.
        calibration: Calibration with a curve.
        name: Id of the chart.
    """
    single, curve = parse_gate(calibration.gate).thresholds, calibration.curve
    assert single is not None
    assert curve is not None
    scale = 100.0 if single.in_points else 1.0
    shown = _of_interest(curve, single.bound, None if calibration.advice is None else calibration.advice.bound)
    marks = [(scale * single.bound, shown_bound(single.bound, single.in_points))]
    if calibration.advice is not None:
        bound = calibration.advice.bound
        marks.append((scale * bound, f"advised {shown_bound(bound, single.in_points)}"))
    alarms = "".join(f"; {source}: {percent(rate)}" for source, rate in _alarms_at(curve, single.bound))
    unit = " (points)" if single.in_points else ""
    return Chart(
        name,
        Lines(
            tuple(_lines(result, calibration, shown, scale)),
            f"bound of {single.metric}{unit}",
            "share",
            tuple(marks),
            shares="y",
        ),
        "Colored: faults of each cost that would pass. Gray: false alarms, by what differs.",
        f"Share of faults that pass {calibration.gate} by cost, and of false alarms, for all bounds; at that bound, "
        f"{percent(calibration.miss_rate)} of faults pass{alarms}.",
    )


def _lines(result: Assessment, calibration: GateCalibration, shown: Sequence[int], scale: float) -> Iterator[Line]:
    said, curve = phrases(result.notice), calibration.curve
    assert curve is not None
    for each, rates in zip(calibration.bins, curve.bin_miss_rates, strict=True):
        points = _points(curve.bounds, rates, shown, scale)
        if points:
            yield Line(f"cost {said.between(each.low, each.high)}", points)
    for number, (source, rates) in enumerate(curve.alarm_rates.items()):
        yield Line(source, _points(curve.bounds, rates, shown, scale), STYLES[number % len(STYLES)], quiet=True)


def _points(
    bounds: Sequence[float], rates: Sequence[float | None], shown: Sequence[int], scale: float
) -> tuple[Point, ...]:
    """Steps of a rate, which changes at bounds only."""
    known = [(scale * bounds[at], rate) for at in shown if (rate := rates[at]) is not None]
    return tuple((float(x), float(y)) for x, y in known)


def _of_interest(curve: GateCurve, bound: float, advised: float | None) -> list[int]:
    """Places of the bounds around those at which most changes: drastic faults reach much further."""
    mixed = [at for at, column in enumerate(zip(*curve.bin_miss_rates, strict=True)) if _undecided(column)]
    wanted = [curve.bounds[at] for at in mixed] + [bound] + ([] if advised is None else [advised])
    low, high = min(wanted), max(wanted)
    margin = MARGIN * (high - low)
    inside = [at for at, each in enumerate(curve.bounds) if low - margin <= each <= high + margin]
    return inside or [*range(len(curve.bounds))]


def _undecided(rates: Sequence[float | None]) -> bool:
    """Whether a bound lets some faults of the bins pass, but not all."""
    known = [rate for rate in rates if rate is not None]
    return 0 < sum(known) < len(known)


def _alarms_at(curve: GateCurve, bound: float) -> Iterator[tuple[str, float]]:
    """False alarms at a bound, by source."""
    at = int(np.abs(np.array(curve.bounds) - bound).argmin())
    for source, rates in curve.alarm_rates.items():
        yield source, rates[at]
