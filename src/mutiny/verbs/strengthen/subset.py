"""Search for a small part of a test set that notices about as many faults as the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from mutiny.core.json_values import expect_share
from mutiny.core.random import generator_for
from mutiny.verbs.strengthen.answers import Floats, Ints, signed_ranks
from mutiny.verbs.strengthen.choice import NoticeOdds, choose
from mutiny.verbs.strengthen.fault_table import FaultTable
from mutiny.verbs.strengthen.held_out import RateChange, change_of, random_subset

SIZES = 200
"""Sizes that are tried, evenly spaced between none and all of the inputs whose answer changes."""
AIM = 0.5
"""Share of the tolerance that the faults of the search may lose, so that other faults seldom lose more than it."""
MOST = 0.1
"""Largest share of a notice rate that may be lost, whatever the tolerance: tests that notice little must keep it."""


@dataclass(frozen=True, eq=False)
class Subset:
    """A part of a test set.

    Attributes:
        indices: Inputs to keep, ascending.
        of: Number of inputs of the whole set; in the result, with copies.
        rate: Notice rate on the faults for which it was chosen.
        rate_of_all: Notice rate of the whole set on the same faults.
        tolerance: Largest accepted loss of the rate.
    """

    indices: Ints
    of: int
    rate: float
    rate_of_all: float
    tolerance: float

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class SubsetRates:
    """Notice rates of a part of the test set on held-out faults.

    Attributes:
        all: Rate of the whole test set.
        subset: Rate of the part.
        random: Mean rate of random inputs of the test set, as many as in the part.
        loss: Rate of the whole minus rate of the part.
        faults: Number of held-out faults.
    """

    all: float
    subset: float
    random: float
    loss: RateChange
    faults: int

    def __post_init__(self) -> None:
        for rate in (self.all, self.subset, self.random):
            expect_share(rate, "subset.held_out")


def smallest_subset(table: FaultTable, fresh: FaultTable, tolerance: float, seed: int = 0) -> Subset | None:
    """Few inputs that notice about as many faults as all inputs do.

    Inputs whose answer never changes are left out first, because they decide nothing. Every input whose wrong answer a
    fault repairs is kept: without these, a fault that breaks as much as it repairs would look harmful, and fewer tests
    would notice more. So no fault of either table is noticed by the part but not by the whole. Of the others, those
    that raise the expected notice rate most are kept, as many as both tables need.

    A loss that grows or falls is not an answer that breaks or is repaired. For losses, inputs are taken by the size of
    their changes, whatever the sign.

    Args:
        table: Faults of the assessment on the test set, by which inputs are ordered.
        fresh: Faults of other seeds on the test set; with `table`, they decide how many inputs are needed.
        tolerance: Largest accepted loss of the notice rate.
        seed: Seed that decides among equals.

    Returns:
        The part; ``None`` if all inputs together notice no fault.
    """
    every = np.arange(table.inputs)
    if not table.noticed(every).any():
        return None
    kept = (
        np.zeros(0, np.int64)
        if table.unit.relative
        else np.unique(np.concatenate([_repaired(table), _repaired(fresh)]))
    )
    candidates = np.setdiff1d(np.unique(np.concatenate([table.position, fresh.position])), kept)
    candidates = generator_for(seed, "strengthen", "subset").permutation(candidates)
    order = choose(_odds(table, kept), candidates, len(candidates))
    order = np.concatenate([order, candidates[~np.isin(candidates, order)]])
    rates = [(each, each.rate(each.noticed(every))) for each in (table, fresh) if len(each)]
    whole = [(each, rate - AIM * allowed_loss(rate, tolerance)) for each, rate in rates]
    sizes = np.unique(np.linspace(0, len(order), SIZES + 1).astype(int)).tolist()
    enough = len(order)
    for size in reversed(sizes):
        chosen = np.concatenate([kept, order[:size]])
        if any(each.rate(each.noticed(chosen)) < needed for each, needed in whole):
            break
        enough = size
    chosen = np.sort(np.concatenate([kept, order[:enough]]))
    return Subset(chosen, table.inputs, table.rate(table.noticed(chosen)), table.rate(table.noticed(every)), tolerance)


def allowed_loss(rate: float, tolerance: float) -> float:
    """Largest loss of a notice rate that a smaller test set may have.

    >>> allowed_loss(0.8, 0.02), allowed_loss(0.0, 0.02)
    (0.02, 0.0)
    """
    return min(tolerance, MOST * rate)


def held_out_rates(table: FaultTable, subset: Subset, seed: int) -> SubsetRates:
    """Rates of a subset, of the whole test set and of random subsets on held-out faults."""
    whole, part = table.noticed(np.arange(subset.of)), table.noticed(subset.indices)
    random = random_subset(table, subset.of, len(subset), seed)
    return SubsetRates(
        table.rate(whole), table.rate(part), table.rate(random), change_of(table, part, whole), len(table)
    )


def _repaired(table: FaultTable) -> Ints:
    return np.unique(table.position[table.change < 0])


def _odds(table: FaultTable, kept: Ints) -> NoticeOdds:
    """Evidence of the inputs that are kept anyway, and of the others; for losses, without their sign."""
    mean = table.change.astype(float)
    if table.unit.relative:
        spans = np.split(mean, np.searchsorted(table.fault, np.arange(1, len(table))))
        mean = np.abs(np.concatenate([*map(signed_ranks, spans)]))
    there, size = np.isin(table.position, kept), len(table)

    def total(values: Floats) -> Floats:
        return np.bincount(table.fault[there], values[there], size).astype(float)

    return NoticeOdds(
        mean=total(mean),
        square=total(np.square(mean)),
        weights=table.weights,
        fault=table.fault[~there],
        candidate=table.position[~there],
        more_mean=mean[~there],
        more_square=np.square(mean)[~there],
        step=0.0 if table.unit.relative else 1.0,
        critical=float(special.ndtri(1 - table.alpha)),
    )
