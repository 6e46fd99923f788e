"""VRM: no validation data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator


@dataclass(frozen=True)
class NoValidation(TrainingOperator):
    """Learns from the validation data, too; early stopping then looks at the training loss. DeepCrime."""

    code: ClassVar[str] = "VRM"
    title: ClassVar[str] = "remove the validation set"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"

    def values(self, program: Program) -> Iterator[Self]:
        """Itself."""
        if not program.recipe.validation:
            raise NotApplicable("no validation data")
        yield self

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        return replace(program, recipe=replace(program.recipe, validation=0.0))
