"""Quality of an order, if the labels of the pool are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from mutiny.subjects.data.labels import unknown
from mutiny.subjects.tasks import Regression
from mutiny.verbs.select import metrics
from mutiny.verbs.select.base import Order
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.metrics import Rauc

SHARES = (0.05, 0.10, 0.15, 0.20)
"""Budgets in Table 7 of NSS."""
FEWEST = 20
"""Smallest pool for which areas under curves of fault types are computed."""
POINTS = 200
"""Points of the curve for plots."""


@dataclass(frozen=True)
class Truth:
    """Faults of a model on a pool, according to the pool's labels.

    Attributes:
        wrong: Whether the model answers each input wrongly, ``(n,)``.
        types: Fault type of each input, -1 for correct answers, ``(n,)``; ``None`` for regression.
        classes: Number of classes, 0 for regression.
    """

    wrong: npt.NDArray[np.bool_]
    types: npt.NDArray[np.int64] | None = None
    classes: int = 0


@dataclass(frozen=True)
class Quality:
    """Quality of one order.

    Attributes:
        faults: Number of wrong inputs within the budget.
        fdr: Fault detection rate: share of wrong inputs within the budget.
        fdr_at: The same for budgets of 5, 10, 15 and 20% of the pool.
        apfd: Average percentage of faults detected, if each wrong input is a fault; ``None`` without faults.
        apfd_types: The same, if each fault type is a fault.
        rauc: Area under the curve of fault types up to a fifth of the pool, as a share of all possible types.
        rauc_ideal: The same, as a share of the area of the best order.
        curve: Number of faults among the first inputs, ``((inputs, faults), ...)``.
    """

    faults: int
    fdr: float
    fdr_at: dict[str, float]
    apfd: float | None
    apfd_types: float | None
    rauc: Rauc | None
    rauc_ideal: Rauc | None
    curve: tuple[tuple[int, int], ...]


def truth_of(evidence: Evidence) -> Truth | None:
    """Faults of the model, if all labels are known. Nothing else reads targets of the pool."""
    if unknown(evidence.pool.targets, evidence.task):
        return None
    task, outputs = evidence.task, evidence.outputs()
    targets = task.check_targets(evidence.pool.targets, "pool")
    wrong = ~task.judge(outputs, torch.from_numpy(targets))[0].numpy()
    if isinstance(task, Regression):
        return Truth(wrong)
    return Truth(wrong, metrics.fault_types(targets, evidence.predicted()), task.classes)


def references(truth: Truth | None, budget: int) -> dict[str, dict[str, float | None]]:
    """Quality of the ideal order, and expected quality of a random order; empty if labels are not known."""
    if truth is None:
        return {}
    ideal = quality(metrics.ideal_order(truth.wrong), truth, budget)
    random = {"fdr": metrics.expected_fdr(truth.wrong), "apfd": metrics.expected_apfd(truth.wrong), "rauc": None}
    best = None
    if truth.types is not None and ideal.rauc is not None:
        area = metrics.expected_rauc(truth.types, classes=truth.classes)
        random["rauc"] = None if area is None else area.value
        best = quality(metrics.ideal_type_order(truth.types), truth, budget).rauc
    return {
        "ideal": {"fdr": ideal.fdr, "apfd": ideal.apfd, "rauc": best.value if best else None},
        "random": random,
    }


def quality(order: Order, truth: Truth, budget: int) -> Quality:
    """Measures an order of the whole pool.

    >>> measured = quality(np.array([2, 0, 1]), Truth(np.array([False, False, True])), budget=1)
    >>> measured.fdr, round(measured.apfd, 3)
    (1.0, 0.833)
    """
    size, faults = len(order), np.cumsum(truth.wrong[order])
    steps = np.unique(np.linspace(1, size, min(size, POINTS)).astype(np.int64))
    types, apfd_types, possible, ideal = truth.types, None, None, None
    if types is not None:
        apfd_types = metrics.apfd(order, types, per="type")
        if size >= FEWEST:
            possible = metrics.rauc(order, types, normalize="possible", classes=truth.classes)
            ideal = metrics.rauc(order, types, normalize="ideal")
    return Quality(
        faults=int(faults[budget - 1]),
        fdr=metrics.fdr(order, truth.wrong, budget),
        fdr_at={f"{share:.0%}": metrics.fdr(order, truth.wrong, max(1, round(share * size))) for share in SHARES},
        apfd=metrics.apfd(order, truth.wrong),
        apfd_types=apfd_types,
        rauc=possible,
        rauc_ideal=ideal,
        curve=tuple((int(at), int(faults[at - 1])) for at in steps),
    )
