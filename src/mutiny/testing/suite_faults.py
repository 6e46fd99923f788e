"""Which faults of an assessment a test suite is run on: as many of each cost, and of each operator, as there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from mutiny.core.random import generator_for
from mutiny.core.records import FaultRecord


def spread_faults(faults: Sequence[FaultRecord], edges: Sequence[float], seed: int) -> Iterator[FaultRecord]:
    """All faults in the bins of cost, in an order of which every beginning is spread evenly.

    The next fault is of the bin that has given the fewest so far, in it of the operator that has given it the fewest,
    then of the operator, and of the random choice, that has given the fewest at all. Ties are broken at random, from
    the seed.

    Args:
        faults: Faults of one original.
        edges: Ascending edges of the bins of cost; faults outside are left out.
        seed: Seed of everything random.
    """
    shuffled = [faults[at] for at in generator_for(seed, "faults of a suite").permutation(len(faults))]
    bins = [[fault for fault in shuffled if low <= fault.cost < high] for low, high in pairwise(edges)]
    given: Counter[object] = Counter()
    while any(bins):
        number = min((at for at, left in enumerate(bins) if left), key=lambda at: given[at])
        fault = min(
            bins[number],
            key=lambda each: (given[number, each.operator], given[each.operator], given["seed", each.seed]),
        )
        bins[number].remove(fault)
        given.update([number, (number, fault.operator), fault.operator, ("seed", fault.seed)])
        yield fault
