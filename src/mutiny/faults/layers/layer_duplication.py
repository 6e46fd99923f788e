"""Layer duplication (LD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.layers.same_shape import SameShapeLayer
from mutiny.models.structure import Change


@dataclass(frozen=True)
class LayerDuplication(SameShapeLayer):
    """Runs a random layer twice in a row, with the same weights. DeepMutation++.

    Candidates are those of layer removal: shape kept, neither first nor last, active at inference.

    Args:
        layer: Path of the module to duplicate; drawn for each instance by default.
        inactive: Whether dropout and identity modules may be duplicated too, which changes nothing.
    """

    code: ClassVar[str] = "LD"
    title: ClassVar[str] = "layer duplication"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    change: ClassVar[Change] = "duplicate"
