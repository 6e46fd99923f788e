"""OCG: gradients that are clipped otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, TrainingOperator

NORM, VALUE = 1e-3, 0.5
"""DeepCrime sets the norm to -1, which Keras takes for no clipping or turns every gradient around; the value to 0.5."""
How = Literal["off", "norm", "value"]


@dataclass(frozen=True)
class Clipping(TrainingOperator):
    """Clips gradients otherwise, where they are clipped: not at all, to a norm of 0.001, or to 0.5 each. DeepCrime.

    Args:
        clip: ``off``, ``norm`` or ``value``.
    """

    code: ClassVar[str] = "OCG"
    title: ClassVar[str] = "change gradient clipping"
    source: ClassVar[str] = "DeepCrime"
    level: ClassVar[Level] = "settings"
    tries: ClassVar[str] = "3 ways"

    clip: How | None = None

    def __post_init__(self) -> None:
        if self.clip not in (None, "off", "norm", "value"):
            raise BadInput("OCG clip", repr(self.clip), "off, norm or value")

    def values(self, program: Program) -> Iterator[Self]:
        """All that differ from what there is."""
        now = program.recipe.clip_norm, program.recipe.clip_value
        if now == (None, None):
            raise NotApplicable("gradients are not clipped")
        hows: tuple[How, ...] = ("off", "norm", "value")
        for how in hows if self.clip is None else (self.clip,):
            if _clipping(how) != now:
                yield replace(self, clip=how)

    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """See above."""
        del rng
        norm, value = _clipping(self.clip or "off")
        return replace(program, recipe=replace(program.recipe, clip_norm=norm, clip_value=value))


def _clipping(how: str) -> tuple[float | None, float | None]:
    return {"off": (None, None), "norm": (NORM, None), "value": (None, VALUE)}[how]
