"""LRs: a layer removed before training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.layers.sites import same_shape_sites
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import ModuleReplaced


@dataclass(frozen=True)
class LayerLeftOut(LayerOperator):
    """Leaves out one layer whose output has the shape of its input, neither first nor last. DeepMutation.

    Linear layers, convolutions and normalisations are such layers; activations have an operator of their own (AFRs).

    Args:
        layer: path of the module.
        inactive: whether dropout, which has an operator of its own (RCD), and identity modules are layers, too.
    """

    code: ClassVar[str] = "LRs"
    title: ClassVar[str] = "layer removal, before training"
    source: ClassVar[str] = "DeepMutation"

    inactive: bool = False

    def places(self, program: Program) -> dict[str, None]:
        """Layers that keep the shape."""
        return dict.fromkeys(site.path for site in same_shape_sites(program.view, self.inactive))

    def changed(self, program: Program, layer: str) -> Recipe:
        """The layer removed."""
        return with_change(program.recipe, ModuleReplaced(layer))
