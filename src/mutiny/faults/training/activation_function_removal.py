"""AFRs: no activation, as DeepMutation has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.faults.training.activation_removal import NoActivation


@dataclass(frozen=True)
class NoActivationFunction(NoActivation):
    """No activation function after one layer: what ARM does, under the name that it has in DeepMutation.

    Args:
        layer: name of the layer before it.
    """

    code: ClassVar[str] = "AFRs"
    title: ClassVar[str] = "activation function removal, before training"
    source: ClassVar[str] = "DeepMutation"
