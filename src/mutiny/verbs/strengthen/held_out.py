"""Notice rates on held-out faults: what labels are worth, compared with choices of other methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.core.json_values import expect_share
from mutiny.core.random import generator_for
from mutiny.core.stats import Interval
from mutiny.core.stats.notice import notice_interval, rate_difference
from mutiny.verbs.strengthen.answers import Floats, Ints
from mutiny.verbs.strengthen.fault_table import FaultTable

OWN, RANDOM = "strengthen", "random"
DRAWS = 20
"""Random choices over which the rate of ``random`` is averaged."""


@dataclass(frozen=True)
class RateChange:
    """Difference of two notice rates on the same faults, with its interval over originals or random choices."""

    value: float
    interval: Interval | None


@dataclass(frozen=True)
class HeldOutRate:
    """Notice rate of the test set on held-out faults.

    Attributes:
        rate: Notice rate.
        interval: Interval over originals or random choices.
        faults: Number of held-out faults.
    """

    rate: float
    interval: Interval | None
    faults: int

    def __post_init__(self) -> None:
        expect_share(self.rate, "before.rate")


@dataclass(frozen=True)
class LabelGain:
    """Notice rate on held-out faults after labeling the inputs that a method chose.

    Attributes:
        method: Method that chose.
        budget: Number of inputs added to the tests.
        rate: Notice rate after; for ``random``, its mean over several random choices.
        gain: Rate after minus rate before.
        ahead: Rate of `strengthen` minus rate of this method; ``None`` for `strengthen`.
    """

    method: str
    budget: int
    rate: float
    gain: RateChange
    ahead: RateChange | None = None

    def __post_init__(self) -> None:
        expect_share(self.rate, "measured: rate")


def rate_of(table: FaultTable, chosen: Ints) -> HeldOutRate:
    """Notice rate of some inputs."""
    noticed = table.noticed(chosen)
    interval = notice_interval(table.costs, noticed, table.units, edges=table.unit.edges)
    return HeldOutRate(table.rate(noticed), interval, len(table))


def label_gains(
    table: FaultTable, tests: int, orders: Mapping[str, Ints], pool: Ints, budgets: Sequence[int], seed: int
) -> list[LabelGain]:
    """Gains of each method with each budget.

    Args:
        table: Held-out faults on the test inputs, followed by those of the pool.
        tests: Number of test inputs.
        orders: Inputs of the pool by method, best first; that of ``random`` is not used.
        pool: Inputs of the pool that may be chosen.
        budgets: Numbers of labels.
        seed: Seed of random choices.
    """
    every = np.arange(tests)
    before = table.noticed(every)
    draws = [generator_for(seed, "strengthen", RANDOM, number).permutation(pool) for number in range(DRAWS)]
    gains = []
    for budget in budgets:
        after = {
            name: np.mean([table.noticed(np.concatenate([every, tests + order[:budget]])) for order in several], axis=0)
            for name, several in ((name, draws if name == RANDOM else [order]) for name, order in orders.items())
        }
        for name, noticed in after.items():
            ahead = None if name == OWN else change_of(table, noticed, after[OWN])
            gains.append(LabelGain(name, budget, table.rate(noticed), change_of(table, before, noticed), ahead))
    return gains


def change_of(table: FaultTable, before: npt.ArrayLike, after: npt.ArrayLike) -> RateChange:
    """Difference of two notice rates, with its interval."""
    return RateChange(*rate_difference(table.costs, before, after, table.units, edges=table.unit.edges))


def random_subset(table: FaultTable, tests: int, size: int, seed: int) -> Floats:
    """For each fault, the share of random test sets of a given size that notice it, ``(faults,)``."""
    draws = [
        generator_for(seed, "strengthen", "random subset", number).permutation(tests)[:size] for number in range(DRAWS)
    ]
    share: Floats = np.mean([table.noticed(draw) for draw in draws], axis=0)
    return share
