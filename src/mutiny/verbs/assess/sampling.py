"""Which sets of inputs are sampled, and when a sample suffices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mutiny.core.stats.notice import mcnemar_worse
from mutiny.faults.evaluation import Runner
from mutiny.faults.evaluation.strata import Ints
from mutiny.subjects.tasks import Classification

FEWEST_SAMPLED, LEAST_WORK = 2000, 1.5e9
"""Only splits with so many inputs, and so many operations for one pass, are sampled; others cost less than sampling."""
SAME_BIN, SAME_VERDICT = 0.98, 0.998
"""Shares of the predictions that must agree on the bin of a cost, or on a verdict, before other inputs are left out."""


def sampled_splits(runner: Runner) -> frozenset[str]:
    """Splits of which only as many inputs are evaluated as a bin or a verdict needs."""
    if not isinstance(runner.task, Classification):
        return frozenset()
    large = frozenset(name for name in runner.splits if runner.is_large(name, FEWEST_SAMPLED, LEAST_WORK))
    return large - runner.unlabeled  # strata are made of right and of wrong answers


def same_bin(edges: Sequence[float], inputs: int, broken: Ints, repaired: Ints) -> bool:
    """Whether nearly all predictions put the cost of a fault, in points, into one bin."""
    bins = np.searchsorted(edges, 100 * (broken - repaired) / inputs, side="right")
    return bool(np.bincount(bins).max() >= SAME_BIN * len(bins))


def same_verdict(alpha: float, broken: Ints, repaired: Ints) -> bool:
    """Whether nearly all predictions agree on whether the fault is noticed."""
    share = float((mcnemar_worse(broken, repaired) < alpha).mean())
    return max(share, 1 - share) >= SAME_VERDICT
