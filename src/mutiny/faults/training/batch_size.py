"""HBS and HDB: another batch size, and none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator

FACTORS = (0.25, 0.5, 2, 4)
"""DeepCrime tries 32, 64, 256 and 512 where the batch size is 128."""


@dataclass(frozen=True)
class BatchSize(TrainingOperator):
    """Another batch size: a quarter, half, twice and four times of what it is. DeepCrime.

    Args:
        size: items per step.
    """

    code: ClassVar[str] = "HBS"
    title: ClassVar[str] = "change the batch size"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    tries: ClassVar[str] = "4 sizes"

    size: int | None = None

    def __post_init__(self) -> None:
        check_whole("HBS size", 1 if self.size is None else self.size)

    def values(self, program: Program) -> Iterator[Self]:
        """Sizes that are not larger than the data."""
        usual = program.recipe.batch_size
        if self.size is not None:
            if self.size == usual:
                raise NotApplicable(f"the batch size is {usual} already")
            yield self
            return
        for factor in FACTORS:
            size = round(factor * usual)
            if 1 <= size <= len(program.data) and size != usual:
                yield replace(self, size=size)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        assert self.size is not None
        return replace(program, recipe=replace(program.recipe, batch_size=self.size))


@dataclass(frozen=True)
class NoBatches(TrainingOperator):
    """All data in one batch: one step per epoch. DeepCrime."""

    code: ClassVar[str] = "HDB"
    title: ClassVar[str] = "disable batching"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"

    def values(self, program: Program) -> Iterator[Self]:
        """Itself."""
        if program.recipe.batch_size >= len(program.data):
            raise NotApplicable("all data are in one batch already")
        yield self

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        return replace(program, recipe=replace(program.recipe, batch_size=len(program.data)))
