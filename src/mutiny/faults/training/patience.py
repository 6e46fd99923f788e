"""RCP: too little patience before training is stopped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator


@dataclass(frozen=True)
class Patience(TrainingOperator):
    """Stops training too early: the search goes from the patience that there is down to 1. DeepCrime.

    Args:
        patience: epochs without a better loss after which training ends.
    """

    code: ClassVar[str] = "RCP"
    title: ClassVar[str] = "change the patience of early stopping"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    strength: ClassVar[str | None] = "patience"
    tries: ClassVar[str] = "patience down to 1"

    patience: int = 1

    def __post_init__(self) -> None:
        check_whole("RCP patience", self.patience)

    def span(self, program: Program) -> Span:
        """From the patience that there is down to one epoch."""
        patience = program.recipe.patience
        if patience is None:
            raise NotApplicable("no early stopping")
        if patience < 2:
            raise NotApplicable("early stopping has a patience of one epoch, and cannot have less")
        return Span(patience, 1, 1, whole=True)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        return replace(program, recipe=replace(program.recipe, patience=self.patience))
