"""Proposal of inputs to label, from faults tried on a pool. No label of the pool is read here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from mutiny.core.records import FaultRecord
from mutiny.core.stats.notice import bin_weights
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints, signed_ranks
from mutiny.verbs.strengthen.choice import NoticeOdds, choose
from mutiny.verbs.strengthen.context import TriedFault


@dataclass(frozen=True, eq=False)
class Proposal:
    """Inputs to label.

    Attributes:
        order: Inputs of the pool, best first, ``(budget,)``.
        useful: Number of them that raise the expected notice rate; another method chose the rest.
        beyond: Missed faults that the pool is predicted not to make noticed, however the budget is spent.
    """

    order: Ints
    useful: int
    beyond: tuple[FaultRecord, ...] = ()


def counts(record: FaultRecord, unit: CostUnit) -> bool:
    """Whether inputs are chosen for a fault: if it counts in the notice rate, or is drastic and still missed."""
    low, high = unit.edges[0], unit.edges[-1]
    return low <= record.cost < high or (record.cost >= high and not record.noticed)


def propose(faults: Sequence[TriedFault], rest: Ints, budget: int, unit: CostUnit, alpha: float) -> Proposal:
    """Chooses inputs of the pool.

    Args:
        faults: Faults for which `counts` holds.
        rest: Inputs that may be chosen, ranked by the method that decides among equals and fills the budget.
        budget: Number of labels.
        unit: Unit of costs.
        alpha: Significance level at which a fault is noticed.
    """
    odds = odds_of(faults, rest, unit, alpha)
    taken = choose(odds, rest, budget)
    others = rest[~np.isin(rest, taken)][: budget - len(taken)]
    missed = [number for number, each in enumerate(faults) if not each.record.noticed]
    beyond = tuple(faults[number].record for number in missed if not odds.reachable(number, budget))
    return Proposal(np.concatenate([taken, others]), len(taken), beyond)


def predicted_rates(
    faults: Sequence[TriedFault], order: Ints, budgets: Sequence[int], unit: CostUnit, alpha: float
) -> dict[int, float]:
    """Notice rates that are predicted without labels of the pool, by budget.

    Args:
        faults: Faults, better others than those for which the inputs were chosen.
        order: Inputs to label, best first.
        budgets: Numbers of labels.
        unit: Unit of costs.
        alpha: Significance level at which a fault is noticed.
    """
    odds = odds_of(faults, order, unit, alpha)
    noticed = np.array([each.record.noticed for each in faults], bool)
    weights = bin_weights([each.record.cost for each in faults], unit.edges)
    return {number: float(weights @ odds.predicted(order[:number], noticed)) for number in budgets}


def odds_of(faults: Sequence[TriedFault], candidates: Ints, unit: CostUnit, alpha: float) -> NoticeOdds:
    """Evidence of the test set, and of the candidates in a pool. A drastic fault has the weight of the highest bin."""
    costs = np.minimum([each.record.cost for each in faults], np.nextafter(unit.edges[-1], 0))
    fault = np.repeat(np.arange(len(faults)), [len(each.positions) for each in faults])
    candidate = _joined([each.positions for each in faults]).astype(np.int64)
    allowed = np.zeros(int(max(candidate.max(initial=-1), candidates.max(initial=-1))) + 1, bool)
    allowed[candidates] = True
    kept: Bools = allowed[candidate]
    changes = [signed_ranks(each.on_tests) if unit.relative else each.on_tests for each in faults]
    return NoticeOdds(
        mean=np.array([change.sum() for change in changes]),
        square=np.array([np.square(change).sum() for change in changes]),
        weights=bin_weights(costs, unit.edges),
        fault=fault[kept],
        candidate=candidate[kept],
        more_mean=_joined([each.expected.mean for each in faults])[kept],
        more_square=_joined([each.expected.square for each in faults])[kept],
        step=0.0 if unit.relative else 1.0,
        critical=float(special.ndtri(1 - alpha)),
    )


def _joined(arrays: Sequence[np.ndarray]) -> Floats:
    return np.concatenate([np.zeros(0), *arrays]).astype(np.float64)
