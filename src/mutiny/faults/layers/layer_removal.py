"""Layer removal (LR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.layers.same_shape import SameShapeLayer
from mutiny.models.structure import Change


@dataclass(frozen=True)
class LayerRemoval(SameShapeLayer):
    """Removes a random layer whose output has the shape of its input, neither first nor last. DeepMutation++.

    Works inside any module tree. Activations have an operator of their own (AFR). Dropout and identity do nothing at
    inference, so removing them makes an equivalent mutant; DeepMutation++ does that on most networks.

    Args:
        layer: Path of the module to remove; drawn for each instance by default.
        inactive: Whether dropout and identity modules may be removed too.
    """

    code: ClassVar[str] = "LR"
    title: ClassVar[str] = "layer removal"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    change: ClassVar[Change] = "remove"
