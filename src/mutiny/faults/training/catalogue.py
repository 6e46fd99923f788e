"""All faults before training. To add one: a file, and a line here."""

from __future__ import annotations

from mutiny.faults.training.activation_addition import AddedActivation
from mutiny.faults.training.activation_change import OtherActivation
from mutiny.faults.training.activation_function_removal import NoActivationFunction
from mutiny.faults.training.activation_removal import NoActivation
from mutiny.faults.training.base import TrainingOperator
from mutiny.faults.training.batch_size import BatchSize, NoBatches
from mutiny.faults.training.bias_addition import AddedBias
from mutiny.faults.training.bias_removal import NoBias
from mutiny.faults.training.class_overlap import ClassOverlap
from mutiny.faults.training.clipping import Clipping
from mutiny.faults.training.data_missing import DataMissing
from mutiny.faults.training.data_removal import DataRemoval
from mutiny.faults.training.data_repetition import DataRepetition
from mutiny.faults.training.data_shuffle import DataShuffle
from mutiny.faults.training.data_unbalance import DataUnbalance
from mutiny.faults.training.dropout_rate import OtherDropoutRate
from mutiny.faults.training.epochs import FewerEpochs
from mutiny.faults.training.initialiser import OtherInitialiser
from mutiny.faults.training.label_change import LabelChange
from mutiny.faults.training.label_error import LabelError
from mutiny.faults.training.layer_addition import LayerPutIn
from mutiny.faults.training.layer_removal import LayerLeftOut
from mutiny.faults.training.learning_rate import LearningRate
from mutiny.faults.training.loss import OtherLoss
from mutiny.faults.training.noise_addition import NoiseAddition
from mutiny.faults.training.noise_perturbation import NoisePerturbation
from mutiny.faults.training.optimiser import OtherOptimiser
from mutiny.faults.training.patience import Patience
from mutiny.faults.training.regulariser_addition import AddedRegulariser
from mutiny.faults.training.regulariser_change import OtherRegulariser
from mutiny.faults.training.regulariser_removal import NoRegulariser
from mutiny.faults.training.validation import NoValidation

ALL: tuple[type[TrainingOperator], ...] = (
    LabelChange,
    DataRemoval,
    DataUnbalance,
    NoiseAddition,
    ClassOverlap,
    FewerEpochs,
    LearningRate,
    Patience,
    BatchSize,
    NoBatches,
    OtherLoss,
    OtherOptimiser,
    Clipping,
    NoValidation,
    OtherActivation,
    AddedActivation,
    NoActivation,
    AddedRegulariser,
    OtherRegulariser,
    NoRegulariser,
    OtherDropoutRate,
    OtherInitialiser,
    AddedBias,
    NoBias,
    DataRepetition,
    LabelError,
    DataMissing,
    DataShuffle,
    NoisePerturbation,
    LayerLeftOut,
    LayerPutIn,
    NoActivationFunction,
)
TRAINING: dict[str, type[TrainingOperator]] = {operator.code: operator for operator in ALL}
