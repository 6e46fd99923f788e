"""LAs: a layer added before training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from mutiny.faults.training.base import Program
from mutiny.faults.training.layer_operator import LayerOperator, with_change
from mutiny.faults.training.layer_places import hidden_modules
from mutiny.models import ModuleEdit, Patch
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.changes import BATCH_NORM, ModuleFollowed
from mutiny.subjects.training.loop import built

INPUTS = 32
NOISE = 0.1


@dataclass(frozen=True)
class LayerPutIn(LayerOperator):
    """Puts ReLU or batch normalisation right after one hidden linear layer or convolution. DeepMutation.

    ReLU is left out where it would change nothing, as before another ReLU.

    Args:
        layer: path of the module after which it comes.
        addition: relu or batch_norm.
    """

    code: ClassVar[str] = "LAs"
    title: ClassVar[str] = "layer addition, before training"
    source: ClassVar[str] = "DeepMutation"
    choice: ClassVar[str | None] = "addition"
    options: ClassVar[tuple[Any, ...]] = ("relu", BATCH_NORM)

    addition: str | None = None

    def places(self, program: Program) -> dict[str, str | None]:
        """Hidden layers."""
        found = hidden_modules(program.view)
        asked = [path for path in found if self.layer in (None, path)]
        return dict.fromkeys(found) | {path: "relu" for path in asked if _needless(program, path)}

    def changed(self, program: Program, layer: str) -> Recipe:
        """The layer added."""
        return with_change(program.recipe, ModuleFollowed(layer, str(self.addition)))


def _needless(program: Program, path: str) -> bool:
    """Whether ReLU after a module leaves the outputs of a training pass as they are, whatever the weights are."""
    with seeded(0), torch.no_grad():
        model = built(program.recipe).train()
        for parameter in model.parameters():  # what begins at zero would hide the change
            parameter.add_(NOISE * torch.randn_like(parameter))

    def outputs(*edits: ModuleEdit) -> Tensor:
        with seeded(0), torch.no_grad(), Patch(edits).applied(model, program.forward) as forward:
            return forward(program.data.first(INPUTS))

    return torch.equal(outputs(), outputs(ModuleEdit(path, "follow", "relu")))
