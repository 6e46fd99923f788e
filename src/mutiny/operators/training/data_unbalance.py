"""TUD: training data in which rare classes are rarer still."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.data.altered import Altered
from mutiny.errors import NotApplicable
from mutiny.operators.training.base import Program
from mutiny.operators.training.data_operator import DataOperator, Indices, kinds, without


@dataclass(frozen=True)
class DataUnbalance(DataOperator):
    """Removes a share of each class that is smaller than the mean size of the classes that occur. DeepCrime.

    At a share of 1 these classes are gone. For regression, buckets take the place of classes, see
    `mutiny.operators.training.data_operator.buckets`; empty ones do not count.

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
