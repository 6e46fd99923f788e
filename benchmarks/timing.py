"""Ratios of two pieces of work, measured in turns so that noise hits both."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def ratio(baseline: Callable[[], object], ours: Callable[[], object], rounds: int) -> float:
    """Median over rounds of baseline time by our time: above 1 means that we are faster."""
    baseline(), ours()
    return median(seconds(baseline) / seconds(ours) for _ in range(rounds))


def entry(value: float, goal: float, better: str = "higher", unit: str = "x") -> dict[str, object]:
    holds = value >= goal if better == "higher" else value <= goal
    return {"value": round(value, 3), "goal": goal, "better": better, "holds": holds, "unit": unit}
