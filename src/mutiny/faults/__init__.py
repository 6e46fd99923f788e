"""Operators on trained models. To add one, write a file and a line in `ALL`, or an entry point in another package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mutiny.core.registry import Registry
from mutiny.faults.base import Operator
from mutiny.faults.layers.activation_removal import ActivationRemoval
from mutiny.faults.layers.layer_addition import LayerAddition
from mutiny.faults.layers.layer_duplication import LayerDuplication
from mutiny.faults.layers.layer_removal import LayerRemoval
from mutiny.faults.neurons.neuron_activation_inverse import NeuronActivationInverse
from mutiny.faults.neurons.neuron_effect_block import NeuronEffectBlock
from mutiny.faults.neurons.neuron_inhibitor import NeuronInhibitor
from mutiny.faults.neurons.neuron_switch import NeuronSwitch
from mutiny.faults.weights.gaussian_fuzzing import GaussianFuzzing
from mutiny.faults.weights.weight_inhibitor import WeightInhibitor
from mutiny.faults.weights.weight_shuffle import WeightShuffle

if TYPE_CHECKING:
    from mutiny.faults.training import TrainingOperator

ALL: tuple[type[Operator], ...] = (
    WeightInhibitor,
    NeuronInhibitor,
    GaussianFuzzing,
    WeightShuffle,
    NeuronEffectBlock,
    NeuronActivationInverse,
    NeuronSwitch,
    LayerRemoval,
    LayerAddition,
    LayerDuplication,
    ActivationRemoval,
)


def _before_training() -> Registry[TrainingOperator]:
    from mutiny.faults.training import TRAINING_OPERATORS

    return TRAINING_OPERATORS


OPERATORS: Registry[Operator] = Registry("mutiny.operators", Operator, ALL, sibling=_before_training)

__all__ = ["ALL", "OPERATORS", "Operator", *sorted(operator.__name__ for operator in ALL)]
