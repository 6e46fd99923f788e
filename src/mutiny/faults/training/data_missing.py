"""DM: training data that are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import LEFT, Indices, without
from mutiny.faults.training.global_or_local import GlobalOrLocal
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class DataMissing(GlobalOrLocal):
    """Removes a share of the items, whatever their class, but leaves two. DeepMutation, source level.

    Args:
        ratio: share of the items; with 1 a whole class can go.
        of: the class whose items are chosen from; all items if ``None``.
    """

    code: ClassVar[str] = "DM"
    title: ClassVar[str] = "data missing"
    severe: ClassVar[float] = 0.99
    tries: ClassVar[str] = "ratio 0 to 0.99"

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        if len(program.data) <= LEFT:
            raise NotApplicable(f"too few items to do without one: {len(program.data)}")
        return super().groups(program)

    def count(self, size: int) -> int:
        """Two of all stay; of one class all can go."""
        return super().count(size) if self.of is not None else min(max(0, size - LEFT), super().count(size))

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All but the chosen."""
        del rng
        return without(program.data, chosen)
