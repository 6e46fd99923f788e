"""Scores of choices on held-out mutants, compared with choices of other methods of the same size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mutiny.verbs.select.metrics import Repeated, over_repeats
from mutiny.verbs.strengthen.answers import Ints, losses, right
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.kill_table import KillTable
from mutiny.verbs.strengthen.mutant_pool import KillableRange, row_of

OWN, BEFORE = "strengthen", "before"
Sets = Mapping[str, Ints]
"""Inputs by the name of a set: numbers in the test set, followed by those in the pool."""
Scores = Mapping[str, float]
"""Mean score over operators by the name of a set, in one repeat."""


class Killed(NamedTuple):
    """Number of mutants that the training set kills, and how many of them each set kills."""

    of: int
    by: dict[str, int]


@dataclass(frozen=True)
class LabelGain:
    """Score and gain from labeling the inputs that a method chose, over repeats.

    Attributes:
        method: Method that chose.
        budget: Number of inputs added to the tests.
        score: Score after, with its interval.
        gain: Score after minus score before, in the same repeats.
        ahead: Score of `strengthen` minus score of this method, in the same repeats; ``None`` for `strengthen`.
    """

    method: str
    budget: int
    score: Repeated
    gain: Repeated
    ahead: Repeated | None = None


def judged(context: StrengthenContext, killable: KillableRange, seed: int, count: int, sets: Sets) -> Killed:
    """Number of an operator's mutants that each set kills.

    Args:
        context: Originals, test set and pool.
        killable: Operator; mutants are spread over the strengths that the training set killed.
        seed: Seed of the mutants. Only those that the training set kills with this seed count.
        count: Number of mutants.
        sets: Sets of inputs.
    """
    pool = context.labels is not None
    mutants, originals, targets = context.mutant_pool(seed, pool), context.originals, context.targets
    answers = originals.test
    if context.labels is not None:
        targets = np.concatenate([targets, context.labels])
        answers = np.concatenate([originals.test, originals.pool], axis=1)
    rows = []
    for strength in killable.strengths(count):
        rounds = mutants.killable(killable.operator, killable.label, strength)
        if rounds:
            given = mutants.answers(killable.operator, strength, rounds)
            all_given = np.concatenate([given.test, given.pool], axis=2) if pool else given.test
            rows.append(row_of(context.task, killable.label, strength, all_given, targets))
    table = KillTable(
        right(context.task, answers, targets),
        losses(context.task, answers, targets),
        tuple(rows),
        context.rule,
        context.search,
        context.task.higher_is_better,
    )
    return Killed(len(rows), {name: len(table.killed(chosen)) for name, chosen in sets.items()})


def scores_of(operators: Sequence[Killed]) -> Scores | None:
    """Mean over the operators with killable mutants in one repeat; ``None`` if there are none."""
    known = [killed for killed in operators if killed.of]
    if not known:
        return None
    return {name: float(np.mean([killed.by[name] / killed.of for killed in known])) for name in known[0].by}


def name_of(method: str, budget: int) -> str:
    """Name of the set of tests and the inputs that a method chose."""
    return f"{method} {budget}"


def gains(repeats: Sequence[Scores], methods: Sequence[str], budgets: Sequence[int]) -> list[LabelGain]:
    """Means with intervals from the scores of each repeat.

    >>> repeats = [{"before": 0.2, "strengthen 5": 0.5}, {"before": 0.4, "strengthen 5": 0.6}]
    >>> (gain,) = gains(repeats, ["strengthen"], [5])
    >>> round(gain.score.mean, 2), round(gain.gain.mean, 2)
    (0.55, 0.25)
    """
    label_gains = []
    for budget in budgets:
        best = [scores[name_of(OWN, budget)] for scores in repeats]
        for method in methods:
            after = [scores[name_of(method, budget)] for scores in repeats]
            rise = [score - scores[BEFORE] for score, scores in zip(after, repeats, strict=True)]
            lead = [ours - theirs for ours, theirs in zip(best, after, strict=True)]
            ahead = None if method == OWN else over_repeats(lead)
            label_gains.append(LabelGain(method, budget, over_repeats(after), over_repeats(rise), ahead))
    return label_gains
