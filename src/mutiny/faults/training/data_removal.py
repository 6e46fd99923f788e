"""TRD: too little training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, kinds, without
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class DataRemoval(DataOperator):
    """Removes a share of each class, but never its last item. DeepCrime.

    For regression, of each bucket, see `mutiny.faults.training.data_operator.buckets`.

    Args:
        share: of each class.
    """

    code: ClassVar[str] = "TRD"
    title: ClassVar[str] = "remove training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"
    severe: ClassVar[float] = 0.99
    tries: ClassVar[str] = "share 0 to 0.99"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """Classes that have an item to spare."""
        found = [group for group in kinds(program) if len(group) > 1]
        if not found:
            raise NotApplicable("each class or bucket has one item, and cannot do without it")
        return found

    def count(self, size: int) -> int:
        """At least one stays."""
        return min(size - 1, super().count(size))

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All but the chosen."""
        del rng
        return without(program.data, chosen)
