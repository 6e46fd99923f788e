"""RRW: no regulariser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator
from mutiny.faults.training.layer_places import path_of
from mutiny.faults.training.regularised import regularised
from mutiny.subjects.training import Recipe


@dataclass(frozen=True)
class NoRegulariser(LayerOperator):
    """No regulariser for one layer that has one. DeepCrime.

    Args:
        layer: path of the layer's module.
    """

    code: ClassVar[str] = "RRW"
    title: ClassVar[str] = "remove a regulariser"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, str]:
        """Layers with a regulariser."""
        return regularised(program.recipe)

    def changed(self, program: Program, layer: str) -> Recipe:
        """The regulariser dropped."""
        path = path_of(program.view, layer)
        others = {name: factors for name, factors in program.recipe.regularisers.items() if name != path}
        return replace(program.recipe, regularisers=others)
