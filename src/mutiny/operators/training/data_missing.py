"""DM: training data that are missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.data.altered import Altered
from mutiny.operators.training.base import Program
from mutiny.operators.training.data_operator import Indices, without
from mutiny.operators.training.global_or_local import GlobalOrLocal


@dataclass(frozen=True)
class DataMissing(GlobalOrLocal):
    """Removes a share of the items, whatever their class. DeepMutation, source level.

    Args:
        ratio: share of the items; with 1 a whole class can go.
        of: the class whose items are chosen from; all items if ``None``.
    """

    code: ClassVar[str] = "DM"
    title: ClassVar[str] = "data missing"
    severe: ClassVar[float] = 0.99

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All but the chosen."""
        del rng
        return without(program.data, chosen)
