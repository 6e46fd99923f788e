"""How often `compare` is wrong, and how often it is right: type-I error, power against the plan, coverage.

python -m benchmarks.comparison [--quick] [--json FILE]

Each line draws 1,000 pairs of networks whose answers differ by chance alone, 1,000 that lose a known share, and 1,000
that lose exactly the margin. A pair is a table of broken and repaired answers from the multinomial law; scores are
drawn one by one. Rates come with Clopper and Pearson's exact interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.command import run
from mutiny.core.random import generator_for
from mutiny.core.stats import clopper_pearson
from mutiny.core.stats.comparison import ComparisonVerdict, PairedComparison, compare_answers, compare_scores
from mutiny.core.stats.comparison_power import verdict_chances

PAIRS, QUICK_PAIRS = 1000, 200
LEVEL = 0.999
"""Level of the intervals that decide whether a goal holds, because there are many of them; 95% ones are shown."""
BETTER, WORSE = ComparisonVerdict.BETTER, ComparisonVerdict.WORSE
ACCEPTED = (BETTER, ComparisonVerdict.EQUIVALENT, ComparisonVerdict.NOT_WORSE)


@dataclass(frozen=True)
class Case:
    """Answers of two networks: number of inputs, share of changed answers, share lost, margin."""

    n: int
    changed: float
    lost: float
    margin: float

    def __str__(self) -> str:
        return f"n {self.n:,}, {self.changed:.1%} changed, {self.lost:.1%} lost, margin {self.margin:.1%}"


CASES = (
    Case(20, 0.20, 0.15, 0.05),
    Case(50, 0.10, 0.08, 0.05),
    Case(100, 0.05, 0.05, 0.02),
    Case(100, 0.40, 0.20, 0.05),
    Case(449, 0.04, 0.02, 0.01),
    Case(1_000, 0.02, 0.01, 0.005),
    Case(1_000, 0.20, 0.04, 0.01),
    Case(10_000, 0.01, 0.005, 0.005),
    Case(10_000, 0.03, 0.005, 0.005),
    Case(10_000, 0.20, 0.012, 0.005),
    Case(100_000, 0.02, 0.001, 0.0005),
)
DRAWS: Mapping[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails (t, 3 degrees)": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "skewed (exponential)": lambda rng, n: rng.exponential(size=n) - 1,
    "mostly zero": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.1) / np.sqrt(0.1),
}
SIZES = (10, 30, 300)


def measure(quick: bool, _data: Path | None) -> dict[str, dict[str, object]]:
    pairs = QUICK_PAIRS if quick else PAIRS
    rows: dict[str, dict[str, object]] = {}
    for case in CASES:
        rows |= _answers(case, pairs)
    for name in DRAWS:
        for n in SIZES:
            rows |= _scores(name, n, pairs)
    return rows


def _answers(case: Case, pairs: int) -> dict[str, dict[str, object]]:
    rng = generator_for(0, "comparison", str(case))
    found = {name: _drawn(case, lost, pairs, rng) for name, lost in _truths(case).items()}
    rows = {}
    wrong = sum(each.verdict is WORSE for each in found["null"])
    rows[f"{case}: called worse though nothing is lost"] = _at_most(wrong, pairs)
    accepted = sum(each.verdict in ACCEPTED for each in found["margin"])
    rows[f"{case}: not called worse though the margin is lost"] = _at_most(accepted, pairs)
    for name, truth in (("null", 0.0), ("drop", case.lost)):
        counted = Counter(each.verdict for each in found[name])
        planned = verdict_chances(case.n, (case.changed + truth) / 2, (case.changed - truth) / 2, case.margin)
        for verdict in (WORSE, ComparisonVerdict.EQUIVALENT) if name == "null" else (WORSE,):
            rows[f"{case}: {name}, {verdict.value}"] = _as_planned(counted[verdict], pairs, planned[verdict])
    for name, truth in _truths(case).items():
        covered = sum(each.interval.low <= -truth <= each.interval.high for each in found[name])
        rows[f"{case}: coverage, {name}"] = _at_least(covered, pairs)
    return rows


def _truths(case: Case) -> dict[str, float]:
    return {"null": 0.0, "drop": case.lost, "margin": min(case.margin, case.changed)}


def _drawn(case: Case, lost: float, pairs: int, rng: np.random.Generator) -> list[PairedComparison]:
    broken, repaired = (case.changed + lost) / 2, (case.changed - lost) / 2
    tables = rng.multinomial(case.n, [broken, repaired, 1 - case.changed], pairs)
    return [_judged(int(row[0]), int(row[1]), case.n, case.margin) for row in tables]


@cache
def _judged(broken: int, repaired: int, n: int, margin: float) -> PairedComparison:
    return compare_answers(broken, repaired, n, margin)


def _scores(name: str, n: int, pairs: int) -> dict[str, dict[str, object]]:
    """Scores whose differences have a standard deviation of 1."""
    rng, rows = generator_for(0, "comparison", name, n), {}
    margin = 2.0 / np.sqrt(n)
    null = [compare_scores(DRAWS[name](rng, n), margin) for _ in range(pairs)]
    drop = [compare_scores(DRAWS[name](rng, n) - margin, margin) for _ in range(pairs)]
    title = f"{n} scores, {name}"
    rows[f"{title}: called worse though nothing is lost"] = _at_most(sum(each.verdict is WORSE for each in null), pairs)
    rows[f"{title}: not called worse though the margin is lost"] = _at_most(
        sum(each.verdict in ACCEPTED for each in drop), pairs
    )
    if name == "normal":
        power = float(stats.nct.sf(stats.t.isf(0.05, n - 1), n - 1, margin * np.sqrt(n)))
        significant = sum(each.p_worse < 0.05 for each in drop)
        rows[f"{title}: worse, two standard errors lost"] = _as_planned(significant, pairs, power)
    covered = sum(each.interval.low <= 0 <= each.interval.high for each in null)
    rows[f"{title}: coverage"] = _at_least(covered, pairs)
    return rows


def _at_most(count: int, pairs: int, most: float = 0.05) -> dict[str, object]:
    wide, ends = clopper_pearson(count, pairs, LEVEL), clopper_pearson(count, pairs)
    return _row(count / pairs, most, "lower", wide.low <= most, ends.low, ends.high)


def _at_least(count: int, pairs: int, least: float = 0.9) -> dict[str, object]:
    wide, ends = clopper_pearson(count, pairs, LEVEL), clopper_pearson(count, pairs)
    return _row(count / pairs, least, "higher", wide.high >= least, ends.low, ends.high)


def _as_planned(count: int, pairs: int, planned: float) -> dict[str, object]:
    wide, ends = clopper_pearson(count, pairs, LEVEL), clopper_pearson(count, pairs)
    return _row(count / pairs, round(planned, 4), "higher", wide.low <= planned <= wide.high, ends.low, ends.high)


def _row(value: float, goal: float, better: str, holds: bool, low: float, high: float) -> dict[str, object]:
    unit = f" ({low:.3f} to {high:.3f})"
    return {"value": round(value, 4), "goal": goal, "better": better, "holds": bool(holds), "unit": unit}


if __name__ == "__main__":
    run("comparison", measure)
