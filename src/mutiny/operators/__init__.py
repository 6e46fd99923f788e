"""Operators on trained models. To add one: a file, and a line in `ALL`."""

from __future__ import annotations

from mutiny.operators.base import Operator
from mutiny.operators.layers.activation_removal import ActivationRemoval
from mutiny.operators.layers.layer_addition import LayerAddition
from mutiny.operators.layers.layer_duplication import LayerDuplication
from mutiny.operators.layers.layer_removal import LayerRemoval
from mutiny.operators.weights.gaussian_fuzzing import GaussianFuzzing
from mutiny.operators.weights.neuron_activation_inverse import NeuronActivationInverse
from mutiny.operators.weights.neuron_effect_block import NeuronEffectBlock
from mutiny.operators.weights.neuron_inhibitor import NeuronInhibitor
from mutiny.operators.weights.neuron_switch import NeuronSwitch
from mutiny.operators.weights.weight_inhibitor import WeightInhibitor
from mutiny.operators.weights.weight_shuffle import WeightShuffle

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
OPERATORS: dict[str, type[Operator]] = {operator.code: operator for operator in ALL}

__all__ = ["ALL", "OPERATORS", "Operator", *sorted(operator.__name__ for operator in ALL)]
