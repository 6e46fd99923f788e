"""TUD: training data in which rare classes are rarer still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, kinds, without
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class DataUnbalance(DataOperator):
    """Removes a share of each class that is smaller than the mean size of the classes that occur. DeepCrime.

    At a share of 1 these classes are gone. For regression, buckets take the place of classes, see
    `mutiny.faults.training.data_operator.buckets`; empty ones do not count.

    Args:
        share: of each class that is smaller than the mean.
    """

    code: ClassVar[str] = "TUD"
    title: ClassVar[str] = "unbalance training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """Classes that are smaller than the mean."""
        every = kinds(program)
        small = [group for group in every if len(group) * len(every) < len(program.data)]
        if not small:
            raise NotApplicable(f"no class or bucket is smaller than the mean: all have {len(every[0])} items")
        return small

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All but the chosen."""
        del rng
        return without(program.data, chosen)
