"""How good an order is, where the labels of the pool are known after all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select import metrics
from mutiny.verbs.select.base import Order
from mutiny.verbs.select.metrics import Rauc

SHARES = (0.05, 0.10, 0.15, 0.20)
"""Budgets of NSS, Table 7."""
FEWEST = 20
"""Inputs from which areas under curves of fault types mean anything."""
POINTS = 200
"""Points of the curve that a picture shows."""


@dataclass(frozen=True)
class Truth:
    """What the labels of a pool say.

    Attributes:
        wrong: inputs that the model gets wrong, ``(n,)``.
        types: fault type of each input, -1 where there is none, ``(n,)``; ``None`` for regression.
        classes: number of classes, 0 for regression.
    """

    wrong: npt.NDArray[np.bool_]
    types: npt.NDArray[np.int64] | None = None
    classes: int = 0


@dataclass(frozen=True)
class Quality:
    """Of one order.

    Attributes:
        faults: wrong inputs among those within the budget.
        fdr: their share of the budget.
        fdr_at: the same at 5, 10, 15 and 20% of the pool.
        apfd: average percentage of faults detected, each wrong input a fault; ``None`` without faults.
        apfd_types: the same, each fault type once.
        rauc: area under the curve of fault types up to a fifth of the pool, as a share of all types that are possible.
        rauc_ideal: the same, as a share of the area of the best order.
        curve: faults found after so many labels, ``((labels, faults), ...)``.
    """

    faults: int
    fdr: float
    fdr_at: dict[str, float]
    apfd: float | None
    apfd_types: float | None
    rauc: Rauc | None
    rauc_ideal: Rauc | None
    curve: tuple[tuple[int, int], ...]


def quality(order: Order, truth: Truth, budget: int) -> Quality:
    """Measures an order of the whole pool.

    >>> found = quality(np.array([2, 0, 1]), Truth(np.array([False, False, True])), budget=1)
    >>> found.fdr, round(found.apfd, 3)
    (1.0, 0.833)
    """
    size, found = len(order), np.cumsum(truth.wrong[order])
    steps = np.unique(np.linspace(1, size, min(size, POINTS)).astype(np.int64))
    types, apfd_types, possible, ideal = truth.types, None, None, None
    if types is not None:
        apfd_types = metrics.apfd(order, types, per="type")
        if size >= FEWEST:
            possible = metrics.rauc(order, types, normalize="possible", classes=truth.classes)
            ideal = metrics.rauc(order, types, normalize="ideal")
    return Quality(
        faults=int(found[budget - 1]),
        fdr=metrics.fdr(order, truth.wrong, budget),
        fdr_at={f"{share:.0%}": metrics.fdr(order, truth.wrong, max(1, round(share * size))) for share in SHARES},
        apfd=metrics.apfd(order, truth.wrong),
        apfd_types=apfd_types,
        rauc=possible,
        rauc_ideal=ideal,
        curve=tuple((int(at), int(found[at - 1])) for at in steps),
    )
