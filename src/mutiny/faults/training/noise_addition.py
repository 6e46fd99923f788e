"""TAN: noisy training data, by the spread of each item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, noisy_parts
from mutiny.subjects.data.altered import Altered, ItemNoise


@dataclass(frozen=True)
class NoiseAddition(DataOperator):
    """Adds Gaussian noise to a share of the items, in units of the standard deviation of an item's numbers. DeepCrime.

    MUFF's text knows the share of items only and leaves the noise's size open; DeepCrime's code takes the share for it
    too, and so does the default. With several inputs each has noise by its own standard deviation (DeepCrime: only the
    first has noise); whole numbers and masks of zeros and ones beside other inputs stay as they are.

    Args:
        share: of the items.
        sd: standard deviation of the noise in those units; the share if ``None``.
    """

    code: ClassVar[str] = "TAN"
    title: ClassVar[str] = "add noise to training data"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "share"

    share: float = 0.5
    sd: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("TAN sd", 1.0 if self.sd is None else self.sd)

    def groups(self, program: Program) -> list[Indices]:
        """All items."""
        noisy_parts(program, 2)
        return [np.arange(len(program.data))]

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Noise on the chosen."""
        sd = np.zeros(len(program.data))
        sd[chosen] = self.share if self.sd is None else self.sd
        seed, parts = int(rng.integers(2**63)), noisy_parts(program, 2)
        return Altered(program.data, noise=ItemNoise(sd, seed, relative=True, parts=parts))
