"""Which inputs to label: the ones that bring most mutants nearest to being killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mutiny.verbs.strengthen.answers import Floats, Ints
from mutiny.verbs.strengthen.kill_distance import KillDistance

GOALS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""How far past the rule's threshold mutants are brought, one goal after the other: first all are to be killed, then all
surely, for predictions may be wrong and other mutants harder."""
AT_ONCE = 0.04
"""So many, as a share of those already taken, are taken from one look at all candidates: never more at first than one,
and the order does not depend on the budget."""
GAIN = 1e-6
"""Gains that differ by less are equal."""
SHORT, LOOKS = 1000, 8
"""So many candidates, the best of a look at all, are looked at alone so many times before all are looked at again."""


class Chosen(NamedTuple):
    """Candidates in the order in which they should be labelled.

    Attributes:
        order: their numbers, ``(k,)``; fewer than the budget where no further one brings any mutant nearer.
        reached: after each of them, how near each mutant is, ``(k, mutants)``.
    """

    order: Ints
    reached: Floats


def choose(
    gauge: KillDistance, weights: Floats, candidates: Ints, budget: int, goals: Sequence[float] = GOALS
) -> Chosen:
    """Takes, again and again, what brings the mutants nearest to a goal; past it a mutant does not count.

    What would take back some of what an earlier goal has reached is never taken: that all are killed counts more than
    that some are killed surely.

    Args:
        gauge: knows how near the mutants are; it is used up.
        weights: of the mutants, ``(mutants,)``.
        candidates: numbers of inputs, as the gauge has them; among equals the first is taken.
        budget: how many.
        goals: 1 is where the rule kills.
    """
    left, taken, reached = candidates, list[int](), list[Floats]()
    at, looks, short = 0, 0, candidates
    while at < len(goals) and len(left) and len(taken) < budget:
        everyone = looks % LOOKS == 0 or not len(short)
        here = left if everyone else short
        gains = _gains(gauge, weights, here, goals[: at + 1])
        order = np.argsort(-np.round(gains / GAIN), kind="stable")
        few = order[: min(max(1, int(AT_ONCE * len(taken))), budget - len(taken))]
        best = here[few[gains[few] > GAIN]]
        if len(best):
            looks += 1
            short = np.setdiff1d(here[order[:SHORT]] if everyone else short, best)
            short = left[np.isin(left, short)]
            left = left[~np.isin(left, best)]
        elif everyone:
            at, looks = at + 1, 0
        else:
            looks = 0  # the best of before are not good any more
        for one in best.tolist():
            gauge.take(one)
            taken.append(one)
            reached.append(gauge.reached())
    return Chosen(np.array(taken, np.int64), np.array(reached).reshape(len(taken), len(weights)))


def _gains(gauge: KillDistance, weights: Floats, candidates: Ints, goals: Sequence[float]) -> Floats:
    """By how much each candidate brings the mutants nearer to the last goal; less than 0 if it harms an earlier one."""
    now, ahead = gauge.reached(), gauge.ahead(candidates)
    *before, found = (np.minimum(ahead, goal) @ weights - np.minimum(now, goal) @ weights for goal in goals)
    for each in before:
        found = np.where(each < -GAIN, np.minimum(found, each), found)
    return found


def even(labels: Sequence[str]) -> Floats:
    """Weights by which every operator counts the same, however many mutants it has.

    >>> even(["WI", "WI", "NI"]).tolist()
    [0.25, 0.25, 0.5]
    """
    names, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found: Floats = 1 / counts[where] / len(names)
    return found
