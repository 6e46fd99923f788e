"""Operators on the training program. To add one, write a class in the module of what it changes and a line in `ALL`."""

from __future__ import annotations

from mutiny.core.registry import Registry
from mutiny.faults import OPERATORS
from mutiny.faults.training import activations, data, layers, settings
from mutiny.faults.training.base import TrainingOperator

ALL: tuple[type[TrainingOperator], ...] = (
    data.LabelChange,
    data.DataRemoval,
    data.DataUnbalance,
    data.NoiseAddition,
    data.ClassOverlap,
    settings.FewerEpochs,
    settings.LowerLearningRate,
    settings.LowerPatience,
    settings.ChangedBatchSize,
    settings.DisabledBatching,
    settings.ChangedLoss,
    settings.ChangedOptimizer,
    settings.ChangedClipping,
    settings.RemovedValidation,
    activations.ChangedActivation,
    activations.AddedActivation,
    activations.RemovedActivation,
    layers.AddedRegularizer,
    layers.ChangedRegularizer,
    layers.RemovedRegularizer,
    layers.ChangedDropoutRate,
    layers.ChangedInitializer,
    layers.AddedBias,
    layers.RemovedBias,
    data.DataRepetition,
    data.LabelError,
    data.DataMissing,
    data.DataShuffle,
    data.NoisePerturbation,
    layers.RemovedLayer,
    layers.AddedLayer,
    activations.RemovedActivationFunction,
)
TRAINING_OPERATORS: Registry[TrainingOperator] = Registry(
    "mutiny.operators", TrainingOperator, ALL, sibling=lambda: OPERATORS
)

__all__ = ["ALL", "TRAINING_OPERATORS", "TrainingOperator"]
