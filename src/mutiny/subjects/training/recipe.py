"""Recipes: how originals are trained."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.subjects.data import Data
from mutiny.subjects.tasks import Task
from mutiny.subjects.training.changes import NetworkChange
from mutiny.subjects.training.initializers import INITIALIZERS
from mutiny.subjects.training.loop import SCHEDULES, Epoch, train
from mutiny.subjects.training.losses import CLASSIFICATION, REGRESSION

_NOT_USABLE = ("Optimizer", "LBFGS", "SparseAdam")  # the base class; needs closures; needs sparse gradients
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    name.lower(): kind
    for name, kind in vars(torch.optim).items()
    if inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer) and name not in _NOT_USABLE
}
"""Optimizers of torch by lower-case name."""


def default_rate(optimizer: str) -> float:
    """Default learning rate of an optimizer in torch.

    >>> default_rate("adam"), default_rate("adadelta")
    (0.001, 1.0)
    """
    rate = inspect.signature(OPTIMIZERS[optimizer.lower()]).parameters["lr"].default
    return float(rate)


@dataclass(frozen=True)
class Recipe:
    """Everything that determines the training of a network except data and seed.

    Args:
        build: Function that returns a new, untrained network; the global generators are seeded when it is called.
        epochs: Passes over the training data.
        batch_size: Items per training step.
        learning_rate: Learning rate; with a schedule, the highest one.
        optimizer: Name of a ``torch.optim`` class, in upper or lower case: ``sgd``, ``adam``, ``rmsprop``, ...
        optimizer_settings: Further arguments of the optimizer, e.g. ``{"momentum": 0.9}``.
        weight_decay: Weight decay of the optimizer; 0 means none for ``adamw`` too.
        loss: Name of a loss, see `loss_for`, or a function of outputs and targets that returns a number; the loss of
            the task by default.
        schedule: Schedule of the learning rate, one of `SCHEDULES`.
        validation: Share of the training data, drawn at random, that is used for validation only.
        patience: Number of epochs without a better loss after which training ends; the loss is that of the validation
            data, or of the training data if there are none. The last weights are kept, as in Keras by default.
            ``None`` disables early stopping.
        clip_norm: Largest norm of all gradients together; no limit by default.
        clip_value: Largest absolute value in a gradient; no limit by default.
        regularizers: Factors ``(l1, l2)`` by layer, of the absolute values and squares of its weights in the loss.
        initializers: Names of initializers by layer, see `INITIALIZERS`; other layers stay as built.
        changes: Changes of a newly built network, in this order, see :mod:`mutiny.subjects.training.changes`.

    >>> import numpy as np
    >>> from mutiny.subjects.data import as_data
    >>> from mutiny.subjects.tasks import Classification
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> recipe = Recipe(lambda: nn.Linear(1, 2), epochs=200, batch_size=2, learning_rate=0.1)
    >>> model = recipe.train(as_data((x, [0, 0, 1, 1]), "train"), Classification(2), seed=0)
    >>> model(torch.tensor([[0.0], [3.0]])).argmax(dim=1)
    tensor([0, 1])
    """

    build: Callable[[], nn.Module]
    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 1e-3
    optimizer: str = "adam"
    optimizer_settings: Mapping[str, Any] = field(default_factory=dict, hash=False)
    weight_decay: float = 0.0
    loss: str | Callable[[Tensor, Tensor], Tensor] | None = None
    schedule: Literal["none", "cosine", "onecycle"] = "none"
    validation: float = 0.0
    patience: int | None = None
    clip_norm: float | None = None
    clip_value: float | None = None
    regularizers: Mapping[str, tuple[float, float]] = field(default_factory=dict, hash=False)
    initializers: Mapping[str, str] = field(default_factory=dict, hash=False)
    changes: tuple[NetworkChange, ...] = ()

    def __post_init__(self) -> None:
        if not callable(self.build) or isinstance(self.build, nn.Module):
            raise BadInput("build", type(self.build).__name__, "a function that returns a new nn.Module")
        for name in ("epochs", "batch_size"):
            check_whole(name, getattr(self, name))
        check_whole("patience", 1 if self.patience is None else self.patience)
        for name in ("clip_norm", "clip_value"):
            check_positive(name, 1.0 if getattr(self, name) is None else getattr(self, name))
        if not (_is_number(self.validation) and 0 <= self.validation < 1):
            raise BadInput("validation", repr(self.validation), "a share from 0 to below 1")
        check_positive("learning_rate", self.learning_rate)
        if not (_is_number(self.weight_decay) and self.weight_decay >= 0):
            raise BadInput("weight_decay", repr(self.weight_decay), "a number of at least 0")
        if not isinstance(self.optimizer, str) or self.optimizer.lower() not in OPTIMIZERS:
            raise BadInput("optimizer", repr(self.optimizer), f"one of {', '.join(sorted(OPTIMIZERS))}")
        if isinstance(self.loss, str) and self.loss not in CLASSIFICATION + REGRESSION:
            raise BadInput("loss", repr(self.loss), f"one of {', '.join(sorted({*CLASSIFICATION, *REGRESSION}))}")
        if self.schedule not in SCHEDULES:
            raise BadInput("schedule", repr(self.schedule), f"one of {', '.join(SCHEDULES)}")
        for layer, sizes in self.regularizers.items():
            if len(sizes) != 2 or not all(_is_number(size) and size >= 0 for size in sizes):
                raise BadInput(f"regularizers of {layer}", repr(sizes), "(l1, l2), two numbers of at least 0")
        for layer, name in self.initializers.items():
            if name not in INITIALIZERS:
                raise BadInput(f"initializers of {layer}", repr(name), f"one of {', '.join(INITIALIZERS)}")
        object.__setattr__(self, "optimizer_settings", dict(self.optimizer_settings))
        object.__setattr__(self, "regularizers", dict(self.regularizers))
        object.__setattr__(self, "initializers", dict(self.initializers))
        object.__setattr__(self, "changes", tuple(self.changes))

    def make_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer for these parameters."""
        kind = OPTIMIZERS[self.optimizer.lower()]
        settings = {"lr": self.learning_rate, **self.optimizer_settings}
        if "weight_decay" in inspect.signature(kind).parameters:
            settings.setdefault("weight_decay", self.weight_decay)
        elif self.weight_decay:
            raise BadInput("weight_decay", self.weight_decay, f"0 with {self.optimizer}, which has none")
        try:
            return kind(parameters, **settings)
        except (TypeError, ValueError) as error:
            raise BadInput(
                "optimizer_settings", dict(self.optimizer_settings), f"settings of {kind.__name__}", f"{error}."
            ) from error

    def ignored(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Settings among these that training does not obey: none, unlike in `OwnTraining`."""
        del changed
        return ()

    def train(
        self,
        data: Data,
        task: Task,
        seed: int,
        *,
        forward: Forward | None = None,
        device: torch.device | str = "cpu",
        progress: Callable[[int, int], None] | None = None,
        watch: Callable[[Epoch], None] | None = None,
    ) -> nn.Module:
        """Builds and trains a network, see :func:`mutiny.subjects.training.loop.train`."""
        return train(self, data, task, seed, forward=forward, device=device, progress=progress, watch=watch)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
