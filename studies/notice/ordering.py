"""Whether better test sets get higher rates: larger ones, those with hard inputs, those with fewer easy inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import stats

from studies.notice.drawing import groups, of_group
from studies.notice.lab import Lab
from studies.notice.table import TEST, FaultTable, Floats, Ints, flips, rate_of
from studies.store import Rows

NAME = "ordering"
HALVES, DISAGREEMENT, EASY, EASY_ELSEWHERE, TEN = "halves", "disagreement", "easy", "easy for others", "ten sets"
SETS = 10
COLUMNS = (
    "subject question originals inputs draws holds first second third tau tau_low exact tau_made breaks repairs".split()
)


def rows(folder: Path) -> Rows:
    return Rows(folder / "ordering.csv", COLUMNS, 2)


def set_rows(folder: Path) -> Rows:
    return Rows(folder / "sets.csv", "subject set easy_share inputs truth rate".split(), 2)


def units(originals: int) -> list[tuple[str, ...]]:
    """Questions; three disjoint groups and others need four originals."""
    return [(question,) for question in QUESTIONS if originals > 3 or question != HALVES]


def run(lab: Lab, folder: Path, unit: tuple[str, ...]) -> bool:
    """One question, in many draws."""
    (question,) = unit
    answer = QUESTIONS[question]
    rows(folder).put([{"subject": lab.name, "question": question, **answer(lab, lab.all("assess"))}])
    if question == TEN:
        set_rows(folder).put(first_sets(lab))
    return True


def number_of(lab: Lab) -> int:
    """Originals in each of three disjoint groups; what is left says which inputs are easy."""
    return max(1, min(10, lab.design.originals // 4))


def disjoint(lab: Lab, *purpose: object) -> tuple[list[Ints], Ints]:
    """Three groups of originals, and all others."""
    number = number_of(lab)
    parts = groups(range(lab.design.originals), number, lab.folds, lab.draw(NAME, *purpose))[:3]
    return parts, np.setdiff1d(np.arange(lab.design.originals), np.concatenate(parts))


def against_rest(lab: Lab, *purpose: object) -> tuple[Ints, Ints]:
    """A group of originals, and all others."""
    (group, *_), _ = disjoint(lab, *purpose)
    return group, np.setdiff1d(np.arange(lab.design.originals), group)


def easiest(table: FaultTable, others: Ints, positions: Ints, count: int, rng: np.random.Generator) -> Ints:
    """The inputs that faults of other originals flip least; ties are broken at random."""
    return least_flipped(table.of(np.isin(table.original, others)), positions, count, rng)


def least_flipped(table: FaultTable, positions: Ints, count: int, rng: np.random.Generator) -> Ints:
    """The inputs that these faults flip least; ties are broken at random."""
    flipped = flips(table)[positions]
    shuffled = rng.permutation(len(positions))
    return positions[shuffled[np.argsort(flipped[shuffled], kind="stable")[:count]]]


def _rate(table: FaultTable, group: Ints, positions: Ints) -> float:
    part = of_group(table, group)
    return rate_of(part.cost, part.noticed(positions))


def halves(lab: Lab, table: FaultTable) -> dict[str, object]:
    """All tests, a random half, and the easy half, each with originals of its own."""
    found = []
    for draw in range(lab.settings.draws):
        rng, (parts, others) = lab.draw(NAME, "inputs", draw), disjoint(lab, draw)
        tests = rng.permutation(lab.universe)[: lab.size]
        half = len(tests) // 2
        sets = [tests, tests[:half], easiest(table, others, tests, half, rng)]
        found.append([_rate(table, part, chosen) for part, chosen in zip(parts, sets, strict=True)])
    values = np.array(found)
    return _means(lab, values, (values[:, 0] > values[:, 1]) & (values[:, 1] > values[:, 2]), lab.size)


def disagreement(lab: Lab, table: FaultTable) -> dict[str, object]:
    """All tests, and those on which the originals agree; the same originals.

    Also: how many answers to the other inputs a fault breaks and repairs, on average.
    """
    found, kept, changed = [], [], []
    number = min(10, lab.design.originals)
    for draw in range(lab.settings.draws):
        rng = lab.draw(NAME, "agree", draw)
        tests = rng.permutation(lab.universe)[: lab.size]
        group = groups(range(lab.design.originals), number, lab.folds, rng)[0]
        agreeing = tests[agreed(table, group)[tests]]
        kept.append(len(agreeing))
        faults = of_group(table, group)
        changed.append([part.mean() for part in faults.of(faults.counted).counts(np.setdiff1d(tests, agreeing))])
        found.append([_rate(table, group, tests), _rate(table, group, agreeing), np.nan])
    values = np.array(found)
    breaks, repairs = np.mean(changed, axis=0).tolist()
    means = _means(lab, values, values[:, 1] < values[:, 0], round(float(np.mean(kept))), number)
    return {**means, "breaks": breaks, "repairs": repairs}


def agreed(table: FaultTable, group: Ints) -> np.ndarray:
    """Test inputs that all originals of a group get right, or all wrong."""
    right = table.right[TEST][np.isin(table.numbers, group)]
    return np.asarray(right.min(0) == right.max(0))


def easy(lab: Lab, table: FaultTable) -> dict[str, object]:
    """A random test set, and one of the same size with the inputs that other faults flip least; the same faults.

    The other faults are those of other originals, and those of half of the operators on the same originals.
    """
    found, size, operators = [], min(lab.size, lab.universe // 2), np.unique(table.operator)
    for draw in range(lab.settings.draws):
        rng, (group, _) = lab.draw(NAME, "easy", draw), against_rest(lab, draw)
        asked = np.isin(table.operator, rng.permutation(operators)[: -(-len(operators) // 2)])
        judged, everything = of_group(table.of(asked), group), rng.permutation(lab.universe)
        others = ~asked | ~np.isin(table.original, group)
        chosen = least_flipped(table.of(others), everything, size, rng)
        sets = everything[:size], chosen
        found.append([*(rate_of(judged.cost, judged.noticed(positions)) for positions in sets), np.nan])
    values = np.array(found)
    return _means(lab, values, values[:, 1] < values[:, 0] / 2, size)


def easy_elsewhere(lab: Lab, table: FaultTable) -> dict[str, object]:
    """The same with the inputs that faults of other originals flip least, whatever these originals find easy."""
    found, size = [], min(lab.size, lab.universe // 2)
    for draw in range(lab.settings.draws):
        rng, (group, others) = lab.draw(NAME, "easy", draw), against_rest(lab, draw)
        everything = rng.permutation(lab.universe)
        chosen = easiest(table, others, everything, size, rng)
        found.append([_rate(table, group, everything[:size]), _rate(table, group, chosen), np.nan])
    values = np.array(found)
    return _means(lab, values, values[:, 1] < values[:, 0] / 2, size)


def ten_sets(lab: Lab, table: FaultTable, others: Ints, rng: np.random.Generator) -> list[Ints]:
    """Test sets of one size whose share of easy inputs falls from all to none."""
    size = min(lab.size, lab.universe // 2)
    everything = rng.permutation(lab.universe)
    order = easiest(table, others, everything, lab.universe, rng)
    sets = []
    for at in range(SETS):
        easy_ones = order[: round(size * (1 - at / (SETS - 1)))]
        rest = rng.permutation(np.setdiff1d(everything, easy_ones))
        sets.append(np.concatenate([easy_ones, rest[: size - len(easy_ones)]]))
    return sets


def ten(lab: Lab, table: FaultTable) -> dict[str, object]:
    """Kendall's tau between the rates of ten test sets by one group of originals and by all others."""
    taus, made = [], []
    for draw in range(lab.settings.draws):
        group, others = against_rest(lab, draw)
        sets = ten_sets(lab, table, others, lab.draw(NAME, "ten", draw))
        truth = table.of(np.isin(table.original, others) & (table.seed == 0))
        rates = [(_rate(table, group, chosen), rate_of(truth.cost, truth.noticed(chosen))) for chosen in sets]
        ours, theirs = (list(column) for column in zip(*rates, strict=True))
        taus.append(tau(ours, theirs))
        made.append(tau(ours, [*range(SETS)]))
    return {
        "originals": number_of(lab),
        "inputs": min(lab.size, lab.universe // 2),
        "draws": len(taus),
        "tau": float(np.mean(taus)),
        "tau_low": float(np.quantile(taus, 0.05)),
        "exact": float(np.mean(np.array(taus) > 1 - 1e-9)),
        "tau_made": float(np.mean(made)),
    }


def tau(rates: list[float], truth: list[float]) -> float:
    """Kendall's tau; 0 if all are equal.

    >>> tau([0.1, 0.2, 0.3, 0.25], [1, 2, 3, 4])
    0.67
    """
    value = float(stats.kendalltau(rates, truth).statistic)
    return 0.0 if np.isnan(value) else round(value, 2)


def first_sets(lab: Lab) -> list[dict[str, object]]:
    """The ten test sets of the first draw: rate of its originals, and of all others."""
    table = lab.all("assess")
    group, others = against_rest(lab, 0)
    sets = ten_sets(lab, table, others, lab.draw(NAME, "ten", 0))
    truth = table.of(np.isin(table.original, others) & (table.seed == 0))
    return [
        {
            "subject": lab.name,
            "set": at + 1,
            "easy_share": 1 - at / (SETS - 1),
            "inputs": len(chosen),
            "truth": rate_of(truth.cost, truth.noticed(chosen)),
            "rate": _rate(table, group, chosen),
        }
        for at, chosen in enumerate(sets)
    ]


def _means(lab: Lab, values: Floats, holds: np.ndarray, inputs: int, number: int | None = None) -> dict[str, object]:
    first, second, third = (None if np.isnan(column).all() else float(np.nanmean(column)) for column in values.T)
    return {
        "originals": number or number_of(lab),
        "inputs": inputs,
        "draws": len(values),
        "holds": float(holds.mean()),
        "first": first,
        "second": second,
        "third": third,
    }


QUESTIONS: dict[str, Callable[[Lab, FaultTable], dict[str, object]]] = {
    HALVES: halves,
    DISAGREEMENT: disagreement,
    EASY: easy,
    EASY_ELSEWHERE: easy_elsewhere,
    TEN: ten,
}
