"""Fault table: which answers to which inputs each fault changes, and which faults any part of the inputs notices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from mutiny.core.records import FaultRecord
from mutiny.core.stats.notice import bin_weights, mcnemar_worse
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.strengthen.answers import Bools, Floats, Ints, Singles
from mutiny.verbs.strengthen.context import TriedFault


@dataclass(frozen=True, eq=False)
class FaultTable:
    """Changed answers of faults to some inputs, as a sparse table.

    Attributes:
        records: Faults.
        fault: Number of the fault of each changed answer, ascending, ``(k,)``.
        position: Number of its input, ``(k,)``.
        change: How much worse the answer is, ``(k,)``.
        inputs: Number of inputs.
        unit: Unit of costs, which decides the paired test.
        alpha: Significance level at which a fault is noticed.
        metrics: Metric of the original of each fault on the test set, ``(faults,)``.
    """

    records: tuple[FaultRecord, ...]
    fault: Ints
    position: Ints
    change: Singles
    inputs: int
    unit: CostUnit
    alpha: float
    metrics: Floats

    @classmethod
    def of(cls, faults: Sequence[TriedFault], tests: int, pool: int, unit: CostUnit, alpha: float) -> Self:
        """Table of the faults in the bins of cost: on the test inputs, followed by those of the pool if it has labels.

        Args:
            faults: Faults.
            tests: Number of test inputs.
            pool: Number of inputs of the pool; 0 to leave them out.
            unit: Unit of costs.
            alpha: Significance level at which a fault is noticed.
        """
        counted = [each for each in faults if unit.edges[0] <= each.record.cost < unit.edges[-1]]
        positions, changes, sizes = list[npt.NDArray[np.int32]](), list[Singles](), list[int]()
        for each in counted:
            added = each.change is not None and pool > 0
            positions += [each.tests, each.positions + tests] if added else [each.tests]
            changes += [each.on_tests, each.change] if each.change is not None and added else [each.on_tests]
            sizes.append(len(each.tests) + added * len(each.positions))
        return cls(
            tuple(each.record for each in counted),
            np.repeat(np.arange(len(counted)), sizes),
            np.concatenate([np.zeros(0, np.int64), *positions]),
            np.concatenate([np.zeros(0, np.float32), *changes]),
            tests + pool,
            unit,
            alpha,
            np.array([each.metric for each in counted], float),
        )

    def __len__(self) -> int:
        return len(self.records)

    @cached_property
    def costs(self) -> Floats:
        """Cost of each fault."""
        return np.array([record.cost for record in self.records], float)

    @cached_property
    def units(self) -> npt.NDArray[np.int64]:
        """What intervals are over: originals, or random choices if there is only one original."""
        originals = np.array([record.original for record in self.records], np.int64)
        return originals if len(np.unique(originals)) > 1 else np.array([r.seed for r in self.records], np.int64)

    @cached_property
    def weights(self) -> Floats:
        """Weight of each fault in the notice rate."""
        return bin_weights(self.costs, self.unit.edges)

    def noticed(self, chosen: Ints) -> Bools:
        """Which faults some of the inputs notice, ``(faults,)``."""
        inside = np.zeros(self.inputs, bool)
        inside[chosen] = True
        seen = inside[self.position]
        if self.unit.relative:
            return np.array([self._p_value(number, chosen) < self.alpha for number in range(len(self))], bool)
        broken, repaired = (
            np.bincount(self.fault[seen & side], minlength=len(self)) for side in (self.change > 0, self.change < 0)
        )
        return mcnemar_worse(broken, repaired) < self.alpha

    def _p_value(self, number: int, chosen: Ints) -> float:
        """P-value of a fault on some of the inputs, for a loss; an answer that does not change is a change of 0."""
        start, stop = np.searchsorted(self.fault, [number, number + 1])
        change = np.zeros(self.inputs)
        change[self.position[start:stop]] = self.change[start:stop]
        return self.unit.p_value(change[chosen], float(self.metrics[number]))

    def rate(self, noticed: npt.ArrayLike) -> float:
        """The notice rate if each fault is noticed, or is noticed with this probability, ``(faults,)``."""
        return float(self.weights @ np.asarray(noticed, float))
