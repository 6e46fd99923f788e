"""WCI: weights that begin otherwise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator
from mutiny.faults.training.layer_places import path_of, weighted_modules
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.initialisers import INITIALISERS


@dataclass(frozen=True)
class OtherInitialiser(LayerOperator):
    """Another initialiser for the weights of one layer. DeepCrime.

    What a layer has is known only if the recipe's ``initialisers`` say it; it is then left out.

    Args:
        layer: path of the layer's module.
        initialiser: its name, see :mod:`mutiny.subjects.training.initialisers`.
    """

    code: ClassVar[str] = "WCI"
    title: ClassVar[str] = "change an initialiser"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "initialiser"
    options: ClassVar[tuple[Any, ...]] = tuple(INITIALISERS)

    initialiser: str | None = None

    def places(self, program: Program) -> dict[str, str | None]:
        """All layers with weights."""
        view, known = program.view, program.recipe.initialisers
        return {name: known.get(path_of(view, name)) for name in weighted_modules(view)}

    def changed(self, program: Program, layer: str) -> Recipe:
        """The initialiser set, after all others, which may be those of modules around the layer."""
        path = path_of(program.view, layer)
        others = {name: other for name, other in program.recipe.initialisers.items() if name != path}
        return replace(program.recipe, initialisers={**others, path: str(self.initialiser)})
