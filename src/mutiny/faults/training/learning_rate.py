"""HLR: a learning rate that is too small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator

LEAST, STEPS = 1e-3, 100
"""The search goes down to this share of the learning rate, in so many steps; DeepCrime's subjects: 1/1000 and 1/10."""


@dataclass(frozen=True)
class LearningRate(TrainingOperator):
    """Learns too slowly: the search goes from the learning rate down to a thousandth of it. DeepCrime.

    DeepCrime gives bounds for each subject by hand (MNIST: 1 to 0.001); these follow the recipe.

    Args:
        rate: that is learnt with instead.
    """

    code: ClassVar[str] = "HLR"
    title: ClassVar[str] = "change the learning rate"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    strength: ClassVar[str | None] = "rate"
    tries: ClassVar[str] = "rate down to 1/1000"

    rate: float = 1e-5

    def __post_init__(self) -> None:
        check_positive("HLR rate", self.rate)

    def span(self, program: Program) -> Span:
        """From the rate that there is to a thousandth."""
        rate = float(program.recipe.optimizer_settings.get("lr", program.recipe.learning_rate))
        return Span(rate, LEAST * rate, rate / STEPS)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        settings = {name: value for name, value in program.recipe.optimizer_settings.items() if name != "lr"}
        recipe = replace(program.recipe, learning_rate=self.rate, optimizer_settings=settings)
        return replace(program, recipe=recipe)
