"""Operators that change settings of the training: epochs, learning rate, batches, loss, optimizer. DeepCrime's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, final

import numpy as np

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.training.base import Level, Program, Span, TrainingOperator
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe
from mutiny.subjects.training.losses import CLASSIFICATION, REGRESSION
from mutiny.subjects.training.recipe import OPTIMIZERS, default_rate


@dataclass(frozen=True)
class SettingsOperator(TrainingOperator):
    """A fault in the settings of the recipe. An author writes `changed`, and `span` or `values`."""

    level: ClassVar[Level] = "settings"

    @final
    def change(self, program: Program, rng: np.random.Generator) -> Program:
        """The program with the faulty recipe."""
        del rng
        return replace(program, recipe=self.changed(program))

    @abstractmethod
    def changed(self, program: Program) -> Recipe:
        """The faulty recipe."""


@dataclass(frozen=True)
class FewerEpochs(SettingsOperator):
    """Trains for fewer epochs: the search goes from the recipe's number of epochs down to 1. DeepCrime.

    Args:
        epochs: Number of epochs.
    """

    code: ClassVar[str] = "HNE"
    title: ClassVar[str] = "change the number of epochs"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "epochs"
    tries: ClassVar[str] = "epochs down to 1"

    epochs: int = 1

    def __post_init__(self) -> None:
        check_whole("HNE epochs", self.epochs)

    def span(self, program: Program) -> Span:
        """From all epochs down to one."""
        if program.recipe.epochs < 2:
            raise NotApplicable("training takes only one epoch, and cannot take fewer")
        return Span(program.recipe.epochs, 1, 1, whole=True)

    def changed(self, program: Program) -> Recipe:
        """Limits the number of epochs."""
        return replace(program.recipe, epochs=min(self.epochs, program.recipe.epochs))


LEAST_RATE, RATE_STEPS = 1e-3, 100
"""The search goes down to this share of the learning rate, in so many steps; DeepCrime's subjects: 1/1000 and 1/10."""


@dataclass(frozen=True)
class LowerLearningRate(SettingsOperator):
    """Lowers the learning rate: the search goes from the recipe's rate down to a thousandth of it. DeepCrime.

    DeepCrime sets bounds for each subject by hand (MNIST: 1 to 0.001); these follow the recipe.

    Args:
        rate: Learning rate.
    """

    code: ClassVar[str] = "HLR"
    title: ClassVar[str] = "change the learning rate"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "rate"
    tries: ClassVar[str] = "rate down to 1/1000"

    rate: float = 1e-5

    def __post_init__(self) -> None:
        check_positive("HLR rate", self.rate)

    def span(self, program: Program) -> Span:
        """From the recipe's rate to a thousandth of it."""
        rate = float(program.recipe.optimizer_settings.get("lr", program.recipe.learning_rate))
        return Span(rate, LEAST_RATE * rate, rate / RATE_STEPS)

    def changed(self, program: Program) -> Recipe:
        """Sets the learning rate, also where the optimizer's settings have one."""
        settings = {name: value for name, value in program.recipe.optimizer_settings.items() if name != "lr"}
        return replace(program.recipe, learning_rate=self.rate, optimizer_settings=settings)


@dataclass(frozen=True)
class LowerPatience(SettingsOperator):
    """Stops training too early: the search goes from the recipe's patience down to 1. DeepCrime.

    Args:
        patience: Epochs without a better loss after which training stops.
    """

    code: ClassVar[str] = "RCP"
    title: ClassVar[str] = "change the patience of early stopping"
    source: ClassVar[str] = "DeepCrime"
    strength: ClassVar[str | None] = "patience"
    tries: ClassVar[str] = "patience down to 1"

    patience: int = 1

    def __post_init__(self) -> None:
        check_whole("RCP patience", self.patience)

    def span(self, program: Program) -> Span:
        """From the recipe's patience down to one epoch."""
        patience = program.recipe.patience
        if patience is None:
            raise NotApplicable("no early stopping")
        if patience < 2:
            raise NotApplicable("early stopping has a patience of one epoch, and cannot have less")
        return Span(patience, 1, 1, whole=True)

    def changed(self, program: Program) -> Recipe:
        """Sets the patience."""
        return replace(program.recipe, patience=self.patience)


BATCH_FACTORS = (0.25, 0.5, 2, 4)
"""DeepCrime tries 32, 64, 256 and 512 where the batch size is 128."""


@dataclass(frozen=True)
class ChangedBatchSize(SettingsOperator):
    """Changes the batch size to a quarter, half, twice and four times the recipe's. DeepCrime.

    Args:
        size: Items per step.
    """

    code: ClassVar[str] = "HBS"
    title: ClassVar[str] = "change the batch size"
    source: ClassVar[str] = "DeepCrime"
    tries: ClassVar[str] = "4 sizes"

    size: int | None = None

    def __post_init__(self) -> None:
        check_whole("HBS size", 1 if self.size is None else self.size)

    def values(self, program: Program) -> Iterator[Self]:
        """Sizes that are not larger than the data."""
        usual = program.recipe.batch_size
        if self.size is not None:
            if self.size == usual:
                raise NotApplicable(f"the batch size is {usual} already")
            yield self
            return
        for factor in BATCH_FACTORS:
            size = round(factor * usual)
            if 1 <= size <= len(program.data) and size != usual:
                yield replace(self, size=size)

    def changed(self, program: Program) -> Recipe:
        """Sets the batch size."""
        assert self.size is not None
        return replace(program.recipe, batch_size=self.size)


@dataclass(frozen=True)
class DisabledBatching(SettingsOperator):
    """Puts all data in one batch, so that each epoch has one step. DeepCrime."""

    code: ClassVar[str] = "HDB"
    title: ClassVar[str] = "disable batching"
    source: ClassVar[str] = "DeepCrime"

    def values(self, program: Program) -> Iterator[Self]:
        """Itself, unless all data are in one batch."""
        if program.recipe.batch_size >= len(program.data):
            raise NotApplicable("all data are in one batch already")
        yield self

    def changed(self, program: Program) -> Recipe:
        """Sets the batch size to the size of the data."""
        return replace(program.recipe, batch_size=len(program.data))


@dataclass(frozen=True)
class ChangedLoss(SettingsOperator):
    """Changes the loss to each other one that fits the task. DeepCrime.

    DeepCrime's list also has the Kullback-Leibler divergence, which equals cross-entropy where targets are classes.

    Args:
        loss: Name of the loss.
    """

    code: ClassVar[str] = "LCH"
    title: ClassVar[str] = "change the loss"
    source: ClassVar[str] = "DeepCrime"
    tries: ClassVar[str] = "all losses"

    loss: str | None = None

    def __post_init__(self) -> None:
        names = tuple(dict.fromkeys([*CLASSIFICATION, *REGRESSION]))
        if self.loss is not None and self.loss not in names:
            raise BadInput("LCH loss", repr(self.loss), f"one of {', '.join(names)}")

    def values(self, program: Program) -> Iterator[Self]:
        """All losses for the task except the recipe's."""
        if isinstance(program.task, Classification):
            names, usual = CLASSIFICATION, program.recipe.loss or "cross_entropy"
        else:
            names, usual = REGRESSION, program.recipe.loss or program.task.metric
        if self.loss is not None:
            if self.loss not in names:
                raise BadInput("LCH loss", repr(self.loss), f"one that fits the task: {', '.join(names)}")
            if self.loss == usual:
                raise NotApplicable(f"the loss is {usual} already")
            yield self
            return
        yield from (replace(self, loss=name) for name in names if name != usual)

    def changed(self, program: Program) -> Recipe:
        """Sets the loss."""
        return replace(program.recipe, loss=self.loss)


DEEPCRIME_OPTIMIZERS = ("sgd", "rmsprop", "adagrad", "adam", "adamax", "nadam", "adadelta")


@dataclass(frozen=True)
class ChangedOptimizer(SettingsOperator):
    """Changes the optimizer; the new one has its default settings and learning rate, and no weight decay. DeepCrime.

    Args:
        optimizer: Name of the optimizer.
    """

    code: ClassVar[str] = "OCH"
    title: ClassVar[str] = "change the optimizer"
    source: ClassVar[str] = "DeepCrime"
    tries: ClassVar[str] = "up to 7 optimizers"

    optimizer: str | None = None

    def __post_init__(self) -> None:
        if self.optimizer is not None and self.optimizer.lower() not in OPTIMIZERS:
            raise BadInput("OCH optimizer", repr(self.optimizer), f"one of {', '.join(sorted(OPTIMIZERS))}")

    def values(self, program: Program) -> Iterator[Self]:
        """All optimizers except the recipe's."""
        usual = program.recipe.optimizer.lower()
        if self.optimizer is not None:
            if self.optimizer.lower() == usual:
                raise NotApplicable(f"the optimizer is {usual} already")
            yield self
            return
        yield from (replace(self, optimizer=name) for name in DEEPCRIME_OPTIMIZERS if name != usual)

    def changed(self, program: Program) -> Recipe:
        """Sets the optimizer and its default learning rate."""
        assert self.optimizer is not None
        return replace(
            program.recipe,
            optimizer=self.optimizer,
            optimizer_settings={},
            weight_decay=0.0,
            learning_rate=default_rate(self.optimizer),
        )


ClipMode = Literal["off", "norm", "value"]
CLIPPING: dict[ClipMode, tuple[float | None, float | None]] = {
    "off": (None, None),
    "norm": (1e-3, None),
    "value": (None, 0.5),
}
"""Norm and value to which gradients are clipped. DeepCrime sets the value to 0.5 and the norm to -1, for which Keras
either does not clip or reverses every gradient."""


@dataclass(frozen=True)
class ChangedClipping(SettingsOperator):
    """Changes gradient clipping, where there is any: off, to a norm of 0.001, or to 0.5 for each value. DeepCrime.

    Args:
        clip: Mode of clipping: ``off``, ``norm`` or ``value``.
    """

    code: ClassVar[str] = "OCG"
    title: ClassVar[str] = "change gradient clipping"
    source: ClassVar[str] = "DeepCrime"
    tries: ClassVar[str] = "3 ways"

    clip: ClipMode | None = None

    def __post_init__(self) -> None:
        if self.clip is not None and self.clip not in tuple(CLIPPING):
            raise BadInput("OCG clip", repr(self.clip), "off, norm or value")

    def values(self, program: Program) -> Iterator[Self]:
        """All modes that differ from the recipe's."""
        now = program.recipe.clip_norm, program.recipe.clip_value
        if now == (None, None):
            raise NotApplicable("gradients are not clipped")
        for mode in CLIPPING if self.clip is None else (self.clip,):
            if CLIPPING[mode] != now:
                yield replace(self, clip=mode)

    def changed(self, program: Program) -> Recipe:
        """Sets the limits of gradients."""
        norm, value = CLIPPING[self.clip or "off"]
        return replace(program.recipe, clip_norm=norm, clip_value=value)


@dataclass(frozen=True)
class RemovedValidation(SettingsOperator):
    """Trains on the validation data, too; early stopping then uses the training loss. DeepCrime."""

    code: ClassVar[str] = "VRM"
    title: ClassVar[str] = "remove the validation set"
    source: ClassVar[str] = "DeepCrime"

    def values(self, program: Program) -> Iterator[Self]:
        """Itself, if there are validation data."""
        if not program.recipe.validation:
            raise NotApplicable("no validation data")
        yield self

    def changed(self, program: Program) -> Recipe:
        """Sets the share of validation data to 0."""
        return replace(program.recipe, validation=0.0)
