"""Did it help? Mutants that nothing was chosen for judge, and other choices of as many inputs stand beside."""

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
"""Inputs by a name: numbers of the test set, and behind it those of the pool."""
Scores = Mapping[str, float]
"""Mean over operators, by the name of the set, in one repeat."""


class Killed(NamedTuple):
    """Of so many mutants that the training set kills, the number that each set kills."""

    of: int
    by: dict[str, int]


@dataclass(frozen=True)
class LabelGain:
    """What a method's choice is worth, over repeats.

    Attributes:
        method: that chose.
        budget: inputs that were added.
        score: after, with its interval.
        gain: after less before, in the same repeats.
        ahead: `strengthen` less this method, in the same repeats; ``None`` for itself.
    """

    method: str
    budget: int
    score: Repeated
    gain: Repeated
    ahead: Repeated | None = None


def judged(context: StrengthenContext, one: KillableRange, seed: int, count: int, sets: Sets) -> Killed:
    """Which share of an operator's mutants each set kills.

    Args:
        context: originals, test set and pool.
        one: the operator; mutants are spread over the strengths that the training set killed.
        seed: of the mutants. Only those that the training set kills in this embodiment, too, count.
        count: how many mutants.
        sets: of inputs.
    """
    pool = context.labels is not None
    mutants, own, targets = context.mutant_pool(seed, pool), context.originals, context.targets
    answers = own.test
    if context.labels is not None:
        targets, answers = np.concatenate([targets, context.labels]), np.concatenate([own.test, own.pool], axis=1)
    rows = []
    for strength in one.strengths(count):
        rounds = mutants.killable(one.operator, one.label, strength)
        if rounds:
            said = mutants.answers(one.operator, strength, rounds)
            both = np.concatenate([said.test, said.pool], axis=2) if pool else said.test
            rows.append(row_of(context.task, one.label, strength, both, targets))
    table = KillTable(
        right(context.task, answers, targets),
        losses(context.task, answers, targets),
        tuple(rows),
        context.rule,
        context.search,
        context.task.higher_is_better,
    )
    return Killed(len(rows), {name: len(table.killed(chosen)) for name, chosen in sets.items()})


def scores_of(each: Sequence[Killed]) -> Scores | None:
    """The mean over operators with killable mutants, of one repeat; ``None`` if there are none."""
    known = [one for one in each if one.of]
    if not known:
        return None
    return {name: float(np.mean([one.by[name] / one.of for one in known])) for name in known[0].by}


def name_of(method: str, budget: int) -> str:
    """Of the set that a method makes of the tests with so many labels."""
    return f"{method} {budget}"


def gains(repeats: Sequence[Scores], methods: Sequence[str], budgets: Sequence[int]) -> list[LabelGain]:
    """Means with intervals, from the scores of each repeat.

    >>> found = gains([{"before": 0.2, "strengthen 5": 0.5}, {"before": 0.4, "strengthen 5": 0.6}], ["strengthen"], [5])
    >>> round(found[0].score.mean, 2), round(found[0].gain.mean, 2)
    (0.55, 0.25)
    """
    found = []
    for budget in budgets:
        for method in methods:
            after, own = ([each[name_of(who, budget)] for each in repeats] for who in (method, OWN))
            rise = [one - each[BEFORE] for one, each in zip(after, repeats, strict=True)]
            apart = [mine - theirs for mine, theirs in zip(own, after, strict=True)]
            ahead = None if method == OWN else over_repeats(apart)
            found.append(LabelGain(method, budget, over_repeats(after), over_repeats(rise), ahead))
    return found
