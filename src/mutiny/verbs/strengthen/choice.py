"""A greedy choice of inputs that raises the expected share of faults that are noticed. No label of a pool is read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mutiny.verbs.strengthen.answers import Bools, Floats, Ints

GAIN = 1e-9
"""Gains are compared in units of this size, so that rounding does not decide."""
AT_ONCE = 0.04
"""Inputs taken at once, as a share of those already taken. It starts with one, and does not depend on the budget."""


@dataclass(frozen=True, eq=False)
class NoticeOdds:
    """Evidence that inputs give for faults.

    A paired test notices a fault if its changes, divided by the root of their summed squares, are large: for changed
    answers this is McNemar's statistic. That statistic varies by about 1 between faults of the same kind, so that a
    fault is noticed with the normal probability of its distance from the critical value. So an input also counts if it
    only brings a fault closer to significance, and a margin beyond it is preferred.

    Attributes:
        mean: Summed change of each fault on the inputs that are there already, ``(faults,)``.
        square: Summed square of the changes, ``(faults,)``.
        weights: Weight of each fault, ``(faults,)``.
        fault: Fault of each expected change, ``(k,)``.
        candidate: Input of each expected change, ``(k,)``.
        more_mean: Expected change, ``(k,)``.
        more_square: Expected square of the change, ``(k,)``.
        step: Continuity correction: 1 for changed answers, 0 for losses.
        critical: Value of the statistic from which on a fault is noticed.
    """

    mean: Floats
    square: Floats
    weights: Floats
    fault: Ints
    candidate: Ints
    more_mean: Floats
    more_square: Floats
    step: float
    critical: float

    def statistic(self, mean: Floats, square: Floats) -> Floats:
        """The statistic of the paired test from sums of changes and of their squares.

        >>> nothing = np.zeros(0)
        >>> odds = NoticeOdds(nothing, nothing, nothing, nothing, nothing, nothing, nothing, 1.0, 1.645)
        >>> odds.statistic(np.array([5.0, 4.0]), np.array([5.0, 4.0])).round(2).tolist()  # 5 of 5 are significant
        [1.79, 1.5]
        """
        floor = self.step or np.finfo(float).tiny
        return (mean - self.step) / np.sqrt(np.maximum(square, floor))

    def after(self, chosen: Ints) -> tuple[Floats, Floats]:
        """Sums of changes, and of their squares, with some candidates."""
        taken = self._entries(chosen)
        fault, size = self.fault[taken], len(self.mean)
        return (
            self.mean + np.bincount(fault, self.more_mean[taken], size),
            self.square + np.bincount(fault, self.more_square[taken], size),
        )

    def gains(self, mean: Floats, square: Floats, candidates: int) -> Floats:
        """How much each candidate raises the weighted probability that faults are noticed, ``(candidates,)``."""
        now = special.ndtr(self.statistic(mean, square) - self.critical)
        ahead = self.statistic(mean[self.fault] + self.more_mean, square[self.fault] + self.more_square)
        gain = self.weights[self.fault] * (special.ndtr(ahead - self.critical) - now[self.fault])
        return np.bincount(self.candidate, gain, candidates).astype(float)

    def predicted(self, chosen: Ints, noticed: Bools) -> Floats:
        """Probability that each fault is noticed with some candidates, ``(faults,)``, given that labels are predicted.

        Args:
            chosen: Candidates.
            noticed: Whether each fault is noticed without them, ``(faults,)``.
        """
        mean, square = self.after(chosen)
        taken = self._entries(chosen)
        unknown = (self.more_square - np.square(self.more_mean))[taken]
        spread = np.sqrt(np.maximum(np.bincount(self.fault[taken], unknown, len(mean)), 0))
        beyond = mean - self.step - self.critical * np.sqrt(np.maximum(square, self.step))
        return np.where(spread > 0, special.ndtr(beyond / np.where(spread > 0, spread, 1.0)), noticed)

    def reachable(self, fault: int, budget: int) -> bool:
        """Whether some ``budget`` candidates are expected to make a fault noticed."""
        mine = np.flatnonzero((self.fault == fault) & (self.more_mean > 0))
        best = mine[np.argsort(-self.more_mean[mine], kind="stable")[:budget]]
        mean = self.mean[fault] + np.concatenate([[0.0], np.cumsum(self.more_mean[best])])
        square = self.square[fault] + np.concatenate([[0.0], np.cumsum(self.more_square[best])])
        return bool((self.statistic(mean, square) >= self.critical).any())

    def _entries(self, chosen: Ints) -> Bools:
        inside = np.zeros(int(max(self.candidate.max(initial=-1), chosen.max(initial=-1))) + 1, bool)
        inside[chosen] = True
        return inside[self.candidate]


def choose(odds: NoticeOdds, candidates: Ints, budget: int) -> Ints:
    """Repeatedly takes the candidate that raises the expected notice rate most, until none does.

    Args:
        odds: Evidence that candidates give for faults.
        candidates: Numbers of inputs as in ``odds``; among equals the first is taken.
        budget: Largest number of inputs.

    Returns:
        Inputs in the order in which they were taken; a choice with a smaller budget is its beginning.
    """
    left, taken = candidates, np.zeros(0, np.int64)
    size = int(max(candidates.max(initial=-1), odds.candidate.max(initial=-1))) + 1
    mean, square = odds.mean, odds.square
    while len(left) and len(taken) < budget:
        gains = odds.gains(mean, square, size)[left]
        order = np.argsort(-np.round(gains / GAIN), kind="stable")
        few = order[: min(max(1, int(AT_ONCE * len(taken))), budget - len(taken))]
        best = left[few[gains[few] > GAIN]]
        if not len(best):
            break
        taken, left = np.concatenate([taken, best]), left[~np.isin(left, best)]
        mean, square = odds.after(taken)
    return taken
