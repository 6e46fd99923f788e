"""Ratios of two pieces of work, measured in turns so that noise hits both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

Clock = Callable[[], float]


def seconds(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def ratio(
    baseline: Callable[[], object], ours: Callable[[], object], rounds: int, clock: Clock = time.perf_counter
) -> float:
    """Median over rounds of baseline time by our time: above 1 means that we are faster.

    Where both sides have one thread, ``time.process_time`` keeps other work on the machine out of it.
    """
    baseline(), ours()
    return median(seconds(baseline, clock) / seconds(ours, clock) for _ in range(rounds))


def entry(value: float, goal: float, better: str = "higher", unit: str = "x") -> dict[str, object]:
    holds = bool(value >= goal if better == "higher" else value <= goal)  # numpy has booleans of its own
    return {"value": round(float(value), 3), "goal": goal, "better": better, "holds": holds, "unit": unit}
