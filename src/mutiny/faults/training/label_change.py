"""TCL: wrong labels in one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, kinds, of_class, targets_of
from mutiny.subjects.data.altered import Altered
from mutiny.subjects.tasks import Regression


@dataclass(frozen=True)
class LabelChange(DataOperator):
    """Relabels a share of the most frequent class; each item gets a random other class that occurs. DeepCrime.

    Of classes that are equally frequent, the one with the lowest number counts. For regression every target gets noise
    ``N(0, (share * sd)^2)``, where ``sd`` is the standard deviation of its output over all items (DeepCrime's code: of
    all outputs together).

    Args:
        share: of the class; for regression, size of the noise.
        of: the class; the most frequent if ``None``.
    """

    code: ClassVar[str] = "TCL"
    title: ClassVar[str] = "change labels"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5
    of: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("TCL of", 0 if self.of is None else self.of, 0)

    def groups(self, program: Program) -> list[Indices]:
        """The most frequent class, or all items for regression."""
        chosen = None if self.of is None else of_class(program, self.of, self.code)
        if isinstance(program.task, Regression):
            if not np.ptp(targets_of(program), axis=0).any():
                raise NotApplicable("all targets are equal, so noise in units of their standard deviation is none")
            return [np.arange(len(program.data))]
        classes = kinds(program)
        if len(classes) < 2:
            raise NotApplicable("only one class occurs, so there is no other label to give")
        return [max(classes, key=len) if chosen is None else chosen]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Other labels, or numbers that are off."""
        targets = targets_of(program)
        if isinstance(program.task, Regression):
            return Altered(
                program.data, targets=targets + self.share * targets.std(axis=0) * rng.standard_normal(targets.shape)
            )
        others = np.setdiff1d(targets, targets[self.groups(program)[0][:1]])
        targets[chosen] = others[rng.integers(len(others), size=len(targets))][chosen]
        return Altered(program.data, targets=targets)
