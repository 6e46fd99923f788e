"""Numbers about known faults and repairs, from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mutiny.core.stats import holm, wilcoxon
from mutiny.verbs.select.metrics import Repeated, over_repeats
from studies.deepfault.chance import Draw, by_chance
from studies.deepfault.injected import WAYS, WEIGHTS, Way
from studies.deepfault.results import CsvRow
from studies.store import matching, mean, number


def of_way(rows: list[CsvRow], way: Way, operator: str | None = None) -> list[CsvRow]:
    """Rows of one way to accuse in which somebody was accused; of one operator, or of all."""
    found = matching(rows, accuser=way.accuser, active=way.active, failures=way.failures)
    return [row for row in found if row["precision"] and operator in (None, row["operator"])]


def over_faults(rows: list[CsvRow], column: str) -> Repeated | None:
    """The mean of a column with its interval."""
    known = [value for row in rows if (value := number(row, column)) is not None]
    return over_repeats(known) if known else None


def p_values(rows: list[CsvRow]) -> dict[Way, float]:
    """Of each way that accuses neurons, against neurons drawn at random, corrected for the number of ways (Holm)."""
    each = {way: of_way(rows, way) for way in WAYS if way.accuser != WEIGHTS}
    raw = {way: by_chance(map(as_draw, some)) for way, some in each.items() if some}
    return dict(zip(raw, holm([*raw.values()]).tolist(), strict=True)) if raw else {}


def as_draw(row: CsvRow) -> Draw:
    """What was drawn in one row."""
    return Draw(*(int(row[name]) for name in ("hits", "k", "faulty", "neurons")))


@dataclass(frozen=True)
class Pairs:
    """Two ways on the same faults: their means, how many faults, and Wilcoxon's p-value."""

    first: float
    second: float
    count: int
    p_value: float


def paired(first: Iterable[CsvRow], second: Iterable[CsvRow], column: str) -> Pairs | None:
    """Compares a column of rows with the same fault; nothing if there are none."""
    others = {row["fault"]: row for row in second}
    both = [
        (a, b)
        for row in first
        if (a := number(row, column)) is not None and (b := number(others.get(row["fault"]), column)) is not None
    ]
    if not both:
        return None
    one, other = np.array(both).T
    return Pairs(float(one.mean()), float(other.mean()), len(both), wilcoxon(one, other))


def back(rows: Sequence[CsvRow]) -> float | None:
    """How much of the accuracy that faults took came back: gained on held-out inputs, of what was lost on all.

    >>> row = {"accuracy_before": "0.9", "accuracy_faulty": "0.5", "gain": "0.2"}
    >>> back([row]), back([])
    (0.5, None)
    """
    before, faulty, gain = (mean(rows, column) for column in ("accuracy_before", "accuracy_faulty", "gain"))
    if before is None or faulty is None or gain is None or before <= faulty:
        return None
    return gain / (before - faulty)


def repaired(rows: Iterable[CsvRow]) -> int:
    """In how many rows it may be called a repair."""
    return sum(row["repaired"] == "1" for row in rows)
