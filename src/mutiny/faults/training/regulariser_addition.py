"""RAW: a regulariser where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_places import path_of, weighted_modules
from mutiny.faults.training.regularised import Regularised


@dataclass(frozen=True)
class AddedRegulariser(Regularised):
    """Adds the sizes or squares of one layer's weights to the loss, times 0.01, where it has no regulariser. DeepCrime.

    Args:
        layer: path of the layer's module.
        kind: l1 (sizes), l2 (squares) or l1_l2 (both).
    """

    code: ClassVar[str] = "RAW"
    title: ClassVar[str] = "add a regulariser"

    def places(self, program: Program) -> dict[str, None]:
        """Layers without a regulariser, also in a module around them."""
        taken = [path for path, factors in program.recipe.regularisers.items() if any(factors)]
        named = {name: path_of(program.view, name) for name in weighted_modules(program.view)}
        found = [name for name, path in named.items() if not any(_around(other, path) for other in taken)]
        if not found:
            raise NotApplicable("every layer has a regulariser")
        return dict.fromkeys(found)


def _around(outer: str, path: str) -> bool:
    return not outer or f"{path}.".startswith(f"{outer}.")
