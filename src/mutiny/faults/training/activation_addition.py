"""AAL: an activation where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from mutiny.core.errors import NotApplicable
from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.faults.training.layer_places import hidden_modules
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import ACTIVATIONS, ModuleFollowed


@dataclass(frozen=True)
class AddedActivation(LayerOperator):
    """An activation function right after a hidden linear layer or convolution that none follows. DeepCrime.

    Args:
        layer: path of the layer's module.
        activation: elu, softmax, selu, softplus, softsign, relu, tanh, sigmoid, hard_sigmoid or exponential.
    """

    code: ClassVar[str] = "AAL"
    title: ClassVar[str] = "add an activation"
    source: ClassVar[str] = "DeepCrime"
    choice: ClassVar[str | None] = "activation"
    options: ClassVar[tuple[Any, ...]] = tuple(name for name in ACTIVATIONS if name != "linear")

    activation: str | None = None

    def places(self, program: Program) -> dict[str, None]:
        """Hidden layers before whose next layer no activation function is called."""
        followed = {activation.after for activation in program.view.activations}
        found = [name for name, layer in hidden_modules(program.view).items() if layer.name not in followed]
        if not found:
            raise NotApplicable("every hidden layer has an activation")
        return dict.fromkeys(found)

    def changed(self, program: Program, layer: str) -> Recipe:
        """The activation added."""
        return with_change(program.recipe, ModuleFollowed(layer, str(self.activation)))
