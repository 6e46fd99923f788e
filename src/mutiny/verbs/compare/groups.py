"""Which classes and slices changed, with p-values corrected for the number of groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.core.json_values import expect_least
from mutiny.core.stats import holm
from mutiny.core.stats.comparison import compare_answers, compare_scores
from mutiny.verbs.compare.answers import Bools, Texts
from mutiny.verbs.compare.pairs import Pairs

CLASS = "class"
"""Name of the column of right answers."""
MOST_GROUPS = 1000
"""Largest number of different values of a slice."""


@dataclass(frozen=True)
class GroupChange:
    """How the answers to one class, or one slice, changed.

    Attributes:
        column: ``class``, or the name of the slice's column.
        group: Value of the column.
        inputs: Number of inputs.
        a: Accuracy, from 0 to 1, or mean score of A.
        b: The same of B.
        difference: B minus A, in accuracy points or the unit of the scores.
        broken: Inputs that only A gets right, or whose score is worse.
        repaired: Inputs that only B gets right, or whose score is better.
        p_value: Two-sided p-value; ``None`` if there is one input with a score.
        p_adjusted: P-value after Holm's correction over all groups of all columns.
    """

    column: str
    group: str
    inputs: int
    a: float
    b: float
    difference: float
    broken: int
    repaired: int
    p_value: float | None
    p_adjusted: float | None = None

    def __post_init__(self) -> None:
        expect_least(self.inputs, "groups: inputs")


def group_changes(pairs: Pairs, sign: int = 1) -> tuple[GroupChange, ...]:
    """Changes of all classes, and of all groups of all slices, those that changed most surely first.

    Args:
        pairs: Answers of A and B.
        sign: -1 if lower scores are better.
    """
    columns: Mapping[str, Texts] = {**({} if pairs.targets is None else {CLASS: pairs.targets}), **pairs.columns()}
    found: list[GroupChange] = []
    for name, values in columns.items():
        places: dict[str, list[int]] = {}
        for place, value in enumerate(values):
            places.setdefault(value, []).append(place)
        if len(places) > MOST_GROUPS and name != CLASS:
            wrong = f"{name}, with {len(places):,} different values"
            raise BadInput("slices", wrong, f"columns with at most {MOST_GROUPS:,} different values")
        for value, rows in places.items():
            which = np.zeros(len(values), bool)
            which[rows] = True
            found.append(_change(pairs, name, value, which, sign))
    tested = [number for number, group in enumerate(found) if group.p_value is not None]
    adjusted = holm([found[number].p_value or 0.0 for number in tested])
    for number, value in zip(tested, adjusted, strict=True):
        found[number] = replace(found[number], p_adjusted=float(value))
    return tuple(sorted(found, key=lambda group: (group.p_adjusted is None, group.p_adjusted, group.p_value)))


def _change(pairs: Pairs, column: str, group: str, which: Bools, sign: int) -> GroupChange:
    n = int(which.sum())
    means = pairs.a.mean_of(which), pairs.b.mean_of(which)
    if pairs.a.scores is None:
        broken, repaired = int(pairs.broken[which].sum()), int(pairs.repaired[which].sum())
        tested = compare_answers(broken, repaired, n, 1.0)
        difference = 100 * (repaired - broken) / n
        p_value: float | None = min(1.0, 2 * min(tested.p_worse, tested.p_better))
    else:
        gains = sign * pairs.differences[which]
        broken, repaired = int((gains < 0).sum()), int((gains > 0).sum())
        difference, p_value = sign * float(gains.mean()), None
        if n > 1:
            scored = compare_scores(gains, 1.0)
            p_value = min(1.0, 2 * min(scored.p_worse, scored.p_better))
    return GroupChange(column, group, n, *means, difference, broken, repaired, p_value)
