"""RCW: another regulariser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.training.base import Program
from mutiny.faults.training.regularised import Regularised, regularised


@dataclass(frozen=True)
class OtherRegulariser(Regularised):
    """Another kind of regulariser for one layer that has one, with a factor of 0.01 whatever it was. DeepCrime.

    Args:
        layer: path of the layer's module.
        kind: l1 (sizes of weights), l2 (squares) or l1_l2 (both).
    """

    code: ClassVar[str] = "RCW"
    title: ClassVar[str] = "change a regulariser"

    def places(self, program: Program) -> dict[str, str]:
        """Layers with a regulariser."""
        return regularised(program.recipe)
