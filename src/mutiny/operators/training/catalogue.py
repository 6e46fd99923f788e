"""All faults before training. To add one: a file, and a line here."""

from __future__ import annotations

from mutiny.operators.training.activation_addition import AddedActivation
from mutiny.operators.training.activation_change import OtherActivation
from mutiny.operators.training.activation_function_removal import NoActivationFunction
from mutiny.operators.training.activation_removal import NoActivation
from mutiny.operators.training.base import TrainingOperator
from mutiny.operators.training.batch_size import BatchSize, NoBatches
from mutiny.operators.training.bias_addition import AddedBias
from mutiny.operators.training.bias_removal import NoBias
from mutiny.operators.training.class_overlap import ClassOverlap
from mutiny.operators.training.clipping import Clipping
from mutiny.operators.training.data_missing import DataMissing
from mutiny.operators.training.data_removal import DataRemoval
from mutiny.operators.training.data_repetition import DataRepetition
from mutiny.operators.training.data_shuffle import DataShuffle
from mutiny.operators.training.data_unbalance import DataUnbalance
from mutiny.operators.training.dropout_rate import OtherDropoutRate
from mutiny.operators.training.epochs import FewerEpochs
from mutiny.operators.training.initialiser import OtherInitialiser
from mutiny.operators.training.label_change import LabelChange
from mutiny.operators.training.label_error import LabelError
from mutiny.operators.training.layer_addition import LayerPutIn
from mutiny.operators.training.layer_removal import LayerLeftOut
from mutiny.operators.training.learning_rate import LearningRate
from mutiny.operators.training.loss import OtherLoss
from mutiny.operators.training.noise_addition import NoiseAddition
from mutiny.operators.training.noise_perturbation import NoisePerturbation
from mutiny.operators.training.optimiser import OtherOptimiser
from mutiny.operators.training.patience import Patience
from mutiny.operators.training.regulariser_addition import AddedRegulariser
from mutiny.operators.training.regulariser_change import OtherRegulariser
from mutiny.operators.training.regulariser_removal import NoRegulariser
from mutiny.operators.training.validation import NoValidation

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
