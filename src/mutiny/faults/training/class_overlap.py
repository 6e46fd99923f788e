"""TCO: inputs that occur in two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, kinds, targets_of
from mutiny.subjects.data.altered import Altered


@dataclass(frozen=True)
class ClassOverlap(DataOperator):
    """Repeats a share of the largest class with the label of the second largest. DeepCrime.

    Of classes of equal size, the one with the lower number comes first. For regression, buckets take the place of
    classes, see `mutiny.faults.training.data_operator.buckets`, and each copy has the target of a random item of the
    second largest (DeepCrime's code: its distinct targets in turn, from the lowest).

    Args:
        share: of the largest class.
    """

    code: ClassVar[str] = "TCO"
    title: ClassVar[str] = "make classes overlap"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5

    def groups(self, program: Program) -> list[Indices]:
        """The largest class."""
        return _two_largest(program)[:1]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """All items, then the copies."""
        second, targets = _two_largest(program)[1], targets_of(program)
        given = targets[second[rng.integers(len(second), size=len(targets))]]
        order = np.concatenate([np.arange(len(targets)), chosen])
        return Altered(program.data, order, np.concatenate([targets, given[chosen]]))


def _two_largest(program: Program) -> list[Indices]:
    found = sorted(kinds(program), key=len, reverse=True)[:2]
    if len(found) < 2:
        raise NotApplicable("only one class or bucket occurs, so there is none that it could overlap with")
    return found
