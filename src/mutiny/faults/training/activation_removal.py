"""ARM: no activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.activation_places import activation_places
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.subjects.training import Recipe


@dataclass(frozen=True)
class NoActivation(LayerOperator):
    """No activation function after one layer, module or function; the one that shapes the output stays. DeepCrime.

    Args:
        layer: name of the layer before it.
    """

    code: ClassVar[str] = "ARM"
    title: ClassVar[str] = "remove an activation"
    source: ClassVar[str] = "DeepCrime"

    def places(self, program: Program) -> dict[str, None]:
        """Layers that are followed by an activation that another layer reads."""
        found = [name for name, place in activation_places(program).items() if not place.output]
        if not found:
            raise NotApplicable("no activation function before the output")
        return dict.fromkeys(found)

    def changed(self, program: Program, layer: str) -> Recipe:
        """The activation removed."""
        return with_change(program.recipe, activation_places(program)[layer].replaced("linear"))
