"""How an original is trained."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from mutiny.data import Data
from mutiny.errors import BadInput
from mutiny.task import Task
from mutiny.training.loop import Forward, train
from mutiny.training.losses import CLASSIFICATION, REGRESSION
from mutiny.training.schedules import SCHEDULES

_NOT_USABLE = ("Optimizer", "LBFGS", "SparseAdam")  # the base class; needs closures; needs sparse gradients
OPTIMIZERS: dict[str, type[torch.optim.Optimizer]] = {
    name.lower(): kind
    for name, kind in vars(torch.optim).items()
    if inspect.isclass(kind) and issubclass(kind, torch.optim.Optimizer) and name not in _NOT_USABLE
}
"""Optimisers of torch by lower-case name."""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides how a network is trained, apart from data and seed; change it with ``replace``.

    Args:
        build: makes a new, untrained network; it is called under a fixed seed.
        epochs: passes over the training data.
        batch_size: items per step.
        learning_rate: the (highest) learning rate.
        optimizer: the name of a ``torch.optim`` class in any case: ``sgd``, ``adam``, ``rmsprop``, ...
        optimizer_settings: further arguments of the optimiser, e.g. ``{"momentum": 0.9}``.
        weight_decay: as the optimiser defines it; always passed, so 0 means none for ``adamw`` too.
        loss: a name, see :func:`mutiny.training.losses.loss_for`; a function of outputs and targets that returns
            a number; or ``None`` for the task's own.
        schedule: how the learning rate changes, see :mod:`mutiny.training.schedules`.

    >>> import numpy as np
    >>> from mutiny.data import as_data
    >>> from mutiny.task import Classification
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

    def __post_init__(self) -> None:
        if not callable(self.build) or isinstance(self.build, nn.Module):
            raise BadInput("build", type(self.build).__name__, "a function that returns a new nn.Module")
        for name in ("epochs", "batch_size"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BadInput(name, repr(value), "a whole number of at least 1")
        if not (_is_number(self.learning_rate) and self.learning_rate > 0):
            raise BadInput("learning_rate", repr(self.learning_rate), "a positive number")
        if not (_is_number(self.weight_decay) and self.weight_decay >= 0):
            raise BadInput("weight_decay", repr(self.weight_decay), "a number of at least 0")
        if not isinstance(self.optimizer, str) or self.optimizer.lower() not in OPTIMIZERS:
            raise BadInput("optimizer", repr(self.optimizer), f"one of {', '.join(sorted(OPTIMIZERS))}")
        if isinstance(self.loss, str) and self.loss not in CLASSIFICATION + REGRESSION:
            raise BadInput("loss", repr(self.loss), f"one of {', '.join(sorted({*CLASSIFICATION, *REGRESSION}))}")
        if self.schedule not in SCHEDULES:
            raise BadInput("schedule", repr(self.schedule), f"one of {', '.join(SCHEDULES)}")
        object.__setattr__(self, "optimizer_settings", dict(self.optimizer_settings))

    def make_optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimiser for these parameters."""
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

    def train(
        self,
        data: Data,
        task: Task,
        seed: int,
        *,
        forward: Forward | None = None,
        device: torch.device | str = "cpu",
        progress: Callable[[int, int], None] | None = None,
    ) -> nn.Module:
        """A newly built and trained network in evaluation mode, see :func:`mutiny.training.loop.train`."""
        return train(self, data, task, seed, forward=forward, device=device, progress=progress)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
