"""All faults before training. To add one: a file, and a line here."""

from __future__ import annotations

from mutiny.operators.training.base import TrainingOperator
from mutiny.operators.training.batch_size import BatchSize, NoBatches
from mutiny.operators.training.class_overlap import ClassOverlap
from mutiny.operators.training.clipping import Clipping
from mutiny.operators.training.data_missing import DataMissing
from mutiny.operators.training.data_removal import DataRemoval
from mutiny.operators.training.data_repetition import DataRepetition
from mutiny.operators.training.data_shuffle import DataShuffle
from mutiny.operators.training.data_unbalance import DataUnbalance
from mutiny.operators.training.epochs import FewerEpochs
from mutiny.operators.training.label_change import LabelChange
from mutiny.operators.training.label_error import LabelError
from mutiny.operators.training.learning_rate import LearningRate
from mutiny.operators.training.loss import OtherLoss
from mutiny.operators.training.noise_addition import NoiseAddition
from mutiny.operators.training.noise_perturbation import NoisePerturbation
from mutiny.operators.training.optimiser import OtherOptimiser
from mutiny.operators.training.patience import Patience
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
    DataRepetition,
    LabelError,
    DataMissing,
    DataShuffle,
    NoisePerturbation,
)
TRAINING: dict[str, type[TrainingOperator]] = {operator.code: operator for operator in ALL}
