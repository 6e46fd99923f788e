"""HNE: too few epochs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator


@dataclass(frozen=True)
class FewerEpochs(TrainingOperator):
    """Trains for too few epochs: the search goes from as many as there are down to 1. DeepCrime.

    Args:
        epochs: that are left.
    """

    code: ClassVar[str] = "HNE"
    title: ClassVar[str] = "change the number of epochs"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    strength: ClassVar[str | None] = "epochs"
    tries: ClassVar[str] = "epochs down to 1"

    epochs: int = 1

    def __post_init__(self) -> None:
        check_whole("HNE epochs", self.epochs)

    def span(self, program: Program) -> Span:
        """From all down to one."""
        if program.recipe.epochs < 2:
            raise NotApplicable("training takes one epoch, and cannot take fewer")
        return Span(program.recipe.epochs, 1, 1, whole=True)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        return replace(program, recipe=replace(program.recipe, epochs=min(self.epochs, program.recipe.epochs)))
