"""DR: training data that are repeated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import Indices
from mutiny.faults.training.global_or_local import GlobalOrLocal
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class DataRepetition(GlobalOrLocal):
    """Repeats a share of the items once more, at the end, each at most once. DeepMutation, source level.

    Args:
        ratio: share of the items.
        of: the class whose items are chosen from; all items if ``None``.
    """

    code: ClassVar[str] = "DR"
    title: ClassVar[str] = "data repetition"

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All items, then the copies."""
        del rng
        return Altered(program.data, np.concatenate([np.arange(len(program.data)), chosen]))
