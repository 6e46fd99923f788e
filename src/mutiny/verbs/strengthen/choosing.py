"""Greedy choice of the inputs that bring most mutants nearest to being killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mutiny.verbs.strengthen.answers import Floats, Ints
from mutiny.verbs.strengthen.kill_distance import KillDistance

GOALS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)
"""Distances past the rule's threshold that mutants should reach, one goal after the other.

The first goal is that all are predicted to be killed. Further goals add a margin, because predictions may be wrong and
other mutants harder to kill."""
AT_ONCE = 0.04
"""Inputs taken at once, as a share of those already taken. It starts with one, and does not depend on the budget."""
GAIN = 1e-6
"""Resolution of gains: smaller differences count as equal."""
SHORT, LOOKS = 1000, 8
"""Size of the short list of best candidates, and number of steps for which only the short list is evaluated."""


class Chosen(NamedTuple):
    """Candidates in the order in which they should be labeled.

    Attributes:
        order: Numbers of the candidates, ``(k,)``; fewer than the budget if no further one brings a mutant nearer.
        reached: Distance of each mutant after each candidate, ``(k, mutants)``.
    """

    order: Ints
    reached: Floats


def choose(
    gauge: KillDistance, weights: Floats, candidates: Ints, budget: int, goals: Sequence[float] = GOALS
) -> Chosen:
    """Repeatedly takes the candidate that brings the mutants nearest to the current goal.

    A mutant past the goal does not count. A candidate that would undo part of an earlier goal is never taken, because
    killing all mutants matters more than killing some of them with a margin.

    Args:
        gauge: Distances of the mutants; it is changed.
        weights: Weights of the mutants, ``(mutants,)``.
        candidates: Numbers of inputs as in ``gauge``; among equals the first is taken.
        budget: Largest number of inputs.
        goals: Distances to reach; the rule kills at 1.
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
        for candidate in best.tolist():
            gauge.take(candidate)
            taken.append(candidate)
            reached.append(gauge.reached())
    return Chosen(np.array(taken, np.int64), np.array(reached).reshape(len(taken), len(weights)))


def _gains(gauge: KillDistance, weights: Floats, candidates: Ints, goals: Sequence[float]) -> Floats:
    """Gain of each candidate towards the last goal; negative if it harms an earlier goal."""
    now, ahead = gauge.reached(), gauge.ahead(candidates)
    *before, found = (np.minimum(ahead, goal) @ weights - np.minimum(now, goal) @ weights for goal in goals)
    for each in before:
        found = np.where(each < -GAIN, np.minimum(found, each), found)
    return found


def even(labels: Sequence[str]) -> Floats:
    """Weights of mutants with which every operator counts the same.

    >>> even(["WI", "WI", "NI"]).tolist()
    [0.25, 0.25, 0.5]
    """
    names, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found: Floats = 1 / counts[where] / len(names)
    return found
