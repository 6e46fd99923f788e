"""LCH: another loss."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training.losses import CLASSIFICATION, REGRESSION


@dataclass(frozen=True)
class OtherLoss(TrainingOperator):
    """Another loss, each that fits the task. DeepCrime.

    DeepCrime's list has also the Kullback-Leibler divergence, which is cross-entropy where targets are classes.

    Args:
        loss: its name.
    """

    code: ClassVar[str] = "LCH"
    title: ClassVar[str] = "change the loss"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    tries: ClassVar[str] = "all losses"

    loss: str | None = None

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys([*CLASSIFICATION, *REGRESSION]))
        if self.loss is not None and self.loss not in names:
            raise BadInput("LCH loss", repr(self.loss), f"one of {', '.join(names)}")

    def values(self, program: Program) -> Iterator[Self]:
        """All losses but the one that there is."""
        if isinstance(program.task, Classification):
            names, usual = CLASSIFICATION, program.recipe.loss or "cross_entropy"
        else:
            names, usual = REGRESSION, program.recipe.loss or program.task.metric
        if self.loss is not None:
            if self.loss not in names:
                raise BadInput("LCH loss", repr(self.loss), f"one that fits the task: {', '.join(names)}")
            if self.loss == usual:
                raise NotApplicable(f"the loss is {usual} already")
            yield self
            return
        yield from (replace(self, loss=name) for name in names if name != usual)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        return replace(program, recipe=replace(program.recipe, loss=self.loss))
