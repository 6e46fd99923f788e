"""ACH: another activation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mutiny.faults.training.activation_places import activation_places
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import ACTIVATIONS

SPELLED = {"hardsigmoid": "hard_sigmoid"}
"""Torch's names of activations that go by another one here."""


@dataclass(frozen=True)
class OtherActivation(LayerOperator):
    """Another activation function after one layer, each but the one that it has. DeepCrime.

    One that shapes the output number by number, such as a sigmoid, is changed, too; a softmax at the end is part of
    what the outputs mean, and stays. It does not matter whether a module or a function computes it.

    Args:
        layer: name of the layer before it.
        activation: elu, softmax, selu, softplus, softsign, relu, tanh, sigmoid, hard_sigmoid, exponential or linear.
    """

    code: ClassVar[str] = "ACH"
    title: ClassVar[str] = "change an activation"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "activation"
    options: ClassVar[tuple[Any, ...]] = tuple(ACTIVATIONS)

    activation: str | None = None

    def places(self, program: Program) -> dict[str, str]:
        """Layers that are followed by an activation."""
        found = {name: place.spot.function for name, place in activation_places(program).items()}
        return {name: SPELLED.get(function, function) for name, function in found.items()}

    def changed(self, program: Program, layer: str) -> Recipe:
        """The activation replaced."""
        return with_change(program.recipe, activation_places(program)[layer].replaced(str(self.activation)))
