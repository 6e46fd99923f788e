"""NP: noisy training data, by a fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_positive
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import Indices, noisy_parts
from mutiny.faults.training.global_or_local import GlobalOrLocal
from mutiny.subjects.data.altered import Altered, ItemNoise


@dataclass(frozen=True)
class NoisePerturbation(GlobalOrLocal):
    """Adds Gaussian noise ``N(0, sd^2)`` to a share of the items. DeepMutation, source level.

    Whole numbers, and masks of zeros and ones beside other inputs, stay as they are.

    Args:
        ratio: share of the items.
        of: the class whose items are chosen from; all items if ``None``.
        sd: standard deviation of the noise, in the unit of the inputs; 0.1 is meant for inputs between 0 and 1.
    """

    code: ClassVar[str] = "NP"
    title: ClassVar[str] = "noise perturbation"

    sd: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("NP sd", self.sd)

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class, if they have real numbers."""
        noisy_parts(program)
        return super().groups(program)

    def altered(self, program: Program, chosen: Indices, rng: np.random.Generator) -> Altered:
        """Noise on the chosen."""
        sd = np.zeros(len(program.data))
        sd[chosen] = self.sd
        return Altered(program.data, noise=ItemNoise(sd, int(rng.integers(2**63)), parts=noisy_parts(program)))
