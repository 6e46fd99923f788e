"""WAB: a bias where there is none."""

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
class AddedBias(LayerOperator):
    """A bias for one linear layer or convolution without one; it begins as torch begins it. DeepCrime.

    Args:
        layer: path of the layer's module.
    """

    code: ClassVar[str] = "WAB"
    title: ClassVar[str] = "add a bias"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, None]:
        """Layers without a bias."""
        found = [name for name, module in plain_modules(program.view).items() if module.bias is None]
        if not found:
            raise NotApplicable("every layer has a bias")
        return dict.fromkeys(found)

    def changed(self, program: Program, layer: str) -> Recipe:
        """The bias added."""
        return with_change(program.recipe, Bias(path_of(program.view, layer), True))
