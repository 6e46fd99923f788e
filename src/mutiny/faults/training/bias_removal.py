"""WRB: no bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.faults.training.layer_places import path_of, plain_modules
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import Bias


@dataclass(frozen=True)
class NoBias(LayerOperator):
    """No bias for one linear layer or convolution that has one. DeepCrime.

    Args:
        layer: path of the layer's module.
    """

    code: ClassVar[str] = "WRB"
    title: ClassVar[str] = "remove a bias"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, None]:
        """Layers with a bias."""
        found = [name for name, module in plain_modules(program.view).items() if module.bias is not None]
        if not found:
            raise NotApplicable("no layer has a bias")
        return dict.fromkeys(found)

    def changed(self, program: Program, layer: str) -> Recipe:
        """The bias removed."""
        return with_change(program.recipe, Bias(path_of(program.view, layer), False))
