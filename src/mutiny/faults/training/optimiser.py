"""OCH: another optimiser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator
from mutiny.subjects.training.recipe import OPTIMIZERS, default_rate

NAMES = ("sgd", "rmsprop", "adagrad", "adam", "adamax", "nadam", "adadelta")
"""Those of DeepCrime."""


@dataclass(frozen=True)
class OtherOptimiser(TrainingOperator):
    """Another optimiser with its own default settings, also its default learning rate, but no weight decay. DeepCrime.

    Args:
        optimizer: its name.
    """

    code: ClassVar[str] = "OCH"
    title: ClassVar[str] = "change the optimiser"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    tries: ClassVar[str] = "up to 7 optimisers"

    optimizer: str | None = None

    def __post_init__(self) -> None:
        if self.optimizer is not None and self.optimizer.lower() not in OPTIMIZERS:
            raise BadInput("OCH optimizer", repr(self.optimizer), f"one of {', '.join(sorted(OPTIMIZERS))}")

    def values(self, program: Program) -> Iterator[Self]:
        """All but the one that there is."""
        usual = program.recipe.optimizer.lower()
        if self.optimizer is not None:
            if self.optimizer.lower() == usual:
                raise NotApplicable(f"the optimiser is {usual} already")
            yield self
            return
        yield from (replace(self, optimizer=name) for name in NAMES if name != usual)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        assert self.optimizer is not None
        recipe = replace(
            program.recipe, optimizer=self.optimizer, optimizer_settings={}, weight_decay=0.0,
            learning_rate=default_rate(self.optimizer),
        )  # fmt: skip
        return replace(program, recipe=recipe)
