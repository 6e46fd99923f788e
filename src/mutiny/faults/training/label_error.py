"""LE: wrong labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import Indices, targets_of
from mutiny.faults.training.global_or_local import GlobalOrLocal
from mutiny.subjects.data.altered import Altered
from mutiny.subjects.tasks import Classification


@dataclass(frozen=True)
class LabelError(GlobalOrLocal):
    """Gives a share of the items a random other label, of all that the task has. DeepMutation, source level.

    Args:
        ratio: share of the items.
        of: the class whose items are chosen from; all items if ``None``.
    """

    code: ClassVar[str] = "LE"
    title: ClassVar[str] = "label error"

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        if not isinstance(program.task, Classification):
            raise NotApplicable("targets are real numbers, so there is no other label to give")
        return super().groups(program)

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Labels moved on by at least one, round the classes."""
        assert isinstance(program.task, Classification)
        labels, classes = targets_of(program), program.task.classes
        moved = (labels + rng.integers(1, classes, size=len(labels))) % classes
        labels[chosen] = moved[chosen]
        return Altered(program.data, targets=labels)
