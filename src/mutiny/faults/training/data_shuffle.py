"""DF: training data in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import Indices
from mutiny.faults.training.global_or_local import GlobalOrLocal
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class DataShuffle(GlobalOrLocal):
    """Lets a share of the items change places in one random cycle, so that each moves. DeepMutation, source level.

    At least two are chosen. Labels go with their items, so the fault is in the order alone; mutiny's training draws a
    new order for each epoch anyway, and hardly feels it. With ``labels_stay`` inputs change places under their labels.

    Args:
        ratio: share of the items.
        of: the class whose items are chosen from; all items if ``None``.
        labels_stay: whether targets stay in their places.
    """

    code: ClassVar[str] = "DF"
    title: ClassVar[str] = "data shuffle"

    labels_stay: bool = False

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class, if there are two."""
        found = super().groups(program)
        if len(found[0]) < 2:
            raise NotApplicable("one item alone cannot change its place")
        return found

    def count(self, size: int) -> int:
        """At least two."""
        return max(2, super().count(size)) if self.ratio else 0

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Each chosen item in the place of the one that was chosen before it."""
        del rng
        order = np.arange(len(program.data))
        order[chosen] = np.roll(chosen, -1)
        return Altered(program.data, order, program.data.targets if self.labels_stay else None)
