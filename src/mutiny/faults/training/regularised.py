"""Regularisers of layers, as Keras names them, and the operators that set one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator
from mutiny.faults.training.layer_places import WHOLE, path_of
from mutiny.subjects.training import Recipe

USUAL = 0.01
KINDS = {"l1": (USUAL, 0.0), "l2": (0.0, USUAL), "l1_l2": (USUAL, USUAL)}
"""Factors of the sizes and of the squares of weights; 0.01 is the default of Keras."""


@dataclass(frozen=True)
class Regularised(LayerOperator):
    """Base of the operators that give a layer a regulariser.

    Args:
        layer: path of the layer's module.
        kind: l1, l2 or l1_l2.
    """

    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "kind"
    options: ClassVar[tuple[Any, ...]] = tuple(KINDS)

    kind: str | None = None

    def changed(self, program: Program, layer: str) -> Recipe:
        """The regulariser set."""
        path = path_of(program.view, layer)
        return replace(program.recipe, regularisers={**program.recipe.regularisers, path: KINDS[str(self.kind)]})


def regularised(recipe: Recipe) -> dict[str, str]:
    """Kind of the regulariser of each layer that has one; at least one has."""
    kinds = {(True, False): "l1", (False, True): "l2", (True, True): "l1_l2"}
    signs = {path or WHOLE: (l1 > 0, l2 > 0) for path, (l1, l2) in recipe.regularisers.items()}
    found = {name: kinds[sign] for name, sign in signs.items() if any(sign)}
    if not found:
        also = " (weight_decay, which is for all weights, is not one)" if recipe.weight_decay else ""
        raise NotApplicable(f"no regulariser{also}")
    return found
