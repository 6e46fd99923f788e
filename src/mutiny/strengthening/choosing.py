"""Which inputs to label: the ones that bring most mutants nearest to being killed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mutiny.strengthening.answers import Floats, Ints
from mutiny.strengthening.gauges import Gauge

GOALS = (1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""How far past the rule's threshold mutants are brought, one goal after the other: first all are to be killed, then all
surely, for predictions may be wrong and other mutants harder."""
ROUNDS = 250
"""Looks at all candidates; with a larger budget several are taken at a time."""
GAIN = 1e-6
"""Gains that differ by less are equal."""


class Chosen(NamedTuple):
    """Candidates in the order in which they should be labelled.

    Attributes:
        order: their numbers, ``(k,)``; fewer than the budget where no further one brings any mutant nearer.
        reached: after each of them, how near each mutant is, ``(k, mutants)``.
    """

    order: Ints
    reached: Floats


def choose(
    gauge: Gauge, weights: Floats, candidates: Ints, budget: int, goals: Sequence[float] = GOALS
) -> Chosen:  # fmt: skip
    """Takes, again and again, what brings the mutants nearest to a goal; past it a mutant does not count.

    Args:
        gauge: knows how near the mutants are; it is used up.
        weights: of the mutants, ``(mutants,)``.
        candidates: numbers of inputs, as the gauge has them; among equals the first is taken.
        budget: how many.
        goals: 1 is where the rule kills.
    """
    left, taken, reached = candidates, list[int](), list[Floats]()
    at_once, ahead = max(1, budget // ROUNDS), list(goals)
    while ahead and len(left) and len(taken) < budget:
        now = np.minimum(gauge.reached(), ahead[0]) @ weights
        gains = np.minimum(gauge.ahead(left), ahead[0]) @ weights - now
        best = np.argsort(-np.round(gains / GAIN), kind="stable")[: min(at_once, budget - len(taken))]
        best = best[gains[best] > GAIN]
        if not len(best):
            ahead.pop(0)
            continue
        for one in left[best].tolist():
            gauge.take(one)
            taken.append(one)
            reached.append(gauge.reached())
        left = np.delete(left, best)
    return Chosen(np.array(taken, np.int64), np.array(reached).reshape(len(taken), len(weights)))


def even(labels: Sequence[str]) -> Floats:
    """Weights by which every operator counts the same, however many mutants it has.

    >>> even(["WI", "WI", "NI"]).tolist()
    [0.25, 0.25, 0.5]
    """
    names, where, counts = np.unique(labels, return_inverse=True, return_counts=True)
    found: Floats = 1 / counts[where] / len(names)
    return found
