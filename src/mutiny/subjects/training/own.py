"""Training functions of the user, instead of the training loop of mutiny."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from mutiny.core.errors import BadInput, Diverged
from mutiny.core.random import seed_for
from mutiny.models import Forward
from mutiny.subjects.data import Data
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Task
from mutiny.subjects.training.loop import Epoch, built, finite
from mutiny.subjects.training.losses import loss_for, penalties
from mutiny.subjects.training.recipe import Recipe

PARTS: dict[str, tuple[str, ...]] = {
    "data": ("data",),
    "build": ("build", "changes", "initializers"),
    "epochs": ("epochs",),
    "batch_size": ("batch_size",),
    "learning_rate": ("learning_rate",),
    "optimizer": ("optimizer", "optimizer_settings", "weight_decay"),
    "loss": ("loss",),
    "schedule": ("schedule",),
    "validation": ("validation",),
    "patience": ("patience",),
    "clipping": ("clip_norm", "clip_value"),
    "regularizers": ("regularizers",),
}
"""Parts of a training that a function can obey, and the settings of a recipe that belong to each."""


class TrainingDataset(Dataset[tuple[Any, Tensor]]):
    """A split as a torch dataset of (input, target)."""

    def __init__(self, data: Data, targets: Tensor) -> None:
        self.data, self.targets = data, targets

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, Tensor]:
        batch = self.data.read(np.array([range(len(self))[index]]))  # the range refuses what is out of bounds
        return map_leaves(lambda tensor: tensor[0], batch), self.targets[index]


@dataclass(frozen=True)
class TrainingSettings:
    """Argument of a training function: network, data and settings.

    Attributes:
        recipe: Settings by name: ``recipe.epochs``, ``recipe.batch_size``, ``recipe.learning_rate``, ...
        data: Training split.
        task: Task of the network.
        seed: Seed of this training; the global generators are already seeded with it.
        device: Torch device of the training.
    """

    recipe: Recipe
    data: Data
    task: Task
    seed: int
    device: torch.device | str = "cpu"

    def build(self) -> nn.Module:
        """A new network, with the changes of a fault."""
        return built(self.recipe).to(self.device)

    def dataset(self) -> TrainingDataset:
        """The training split as a torch dataset of (input, target), for a ``DataLoader``."""
        return TrainingDataset(self.data, torch.from_numpy(self.task.check_targets(self.data.targets, "train")))

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> torch.optim.Optimizer:
        """The optimizer, with its learning rate."""
        return self.recipe.make_optimizer(parameters)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss of a batch."""
        if callable(self.recipe.loss):
            return self.recipe.loss(outputs, targets)
        return loss_for(self.task, outputs.detach(), self.recipe.loss)(outputs, targets)

    def penalty(self, model: nn.Module) -> Tensor | float:
        """Regularization term of the loss for the current weights of the network; 0 without regularizers."""
        penalty = penalties(model, self.recipe.regularizers)
        return 0.0 if penalty is None else penalty()


@dataclass(frozen=True, kw_only=True)
class OwnTraining(Recipe):
    """A recipe whose network is trained by a function of the user: ``function(settings) -> model``.

    The other settings must describe what the function does without a fault; faults change them. Operators that change
    a setting that the function does not obey are not applicable; ``mutiny assess --dry-run`` lists them.

    Args:
        function: Function that trains a network according to `TrainingSettings` and returns it. It must use the network
            that ``settings.build()`` returns, or build one of the same shape, and should draw all randomness from the
            global generators, which are seeded.
        obeys: Names of the settings that the function uses: ``data``, ``build`` (the network), ``epochs``,
            ``batch_size``, ``learning_rate``, ``optimizer``, ``loss``, ``schedule``, ``validation``, ``patience``,
            ``clipping``, ``regularizers``.

    >>> from mutiny import Classification
    >>> from mutiny.subjects.data import as_data
    >>> def fit(settings):
    ...     model = settings.build()
    ...     optimizer = settings.optimizer(model.parameters())
    ...     inputs, targets = settings.data.read(slice(None)), torch.tensor(settings.data.targets)
    ...     for _ in range(settings.recipe.epochs):
    ...         optimizer.zero_grad()
    ...         settings.loss(model(inputs), targets).backward()
    ...         optimizer.step()
    ...     return model
    >>> recipe = OwnTraining(
    ...     lambda: nn.Linear(1, 2), epochs=200, learning_rate=0.1, function=fit,
    ...     obeys=("data", "build", "epochs", "learning_rate", "optimizer", "loss"),
    ... )
    >>> data = as_data((np.array([[0.0], [1.0], [2.0], [3.0]], np.float32), [0, 0, 1, 1]), "train")
    >>> model = recipe.train(data, Classification(2), seed=0)
    >>> model(torch.tensor([[0.0], [3.0]])).argmax(dim=1)
    tensor([0, 1])
    """

    function: Callable[[TrainingSettings], nn.Module]
    obeys: tuple[str, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "obeys", (self.obeys,) if isinstance(self.obeys, str) else tuple(self.obeys))
        if not callable(self.function):
            raise BadInput("function", repr(self.function)[:60], "a function of settings that returns a trained model")
        for part in self.obeys:
            if part not in PARTS:
                raise BadInput("obeys", repr(part), f"one of {', '.join(PARTS)}")

    def ignored(self, changed: Iterable[str]) -> tuple[str, ...]:
        """Parts of these settings that the function does not obey."""
        covered = {name for part in self.obeys for name in PARTS[part]}
        owners = {name: part for part, names in PARTS.items() for name in names}
        return tuple(dict.fromkeys(owners[name] for name in changed if name not in covered))

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
        """Network that the function returns, in evaluation mode; ``watch`` is never called."""
        del forward, watch
        with seeded(seed_for(seed, "train"), device):
            model = self.function(TrainingSettings(self, data, task, seed, device))
        if not isinstance(model, nn.Module):
            raise BadInput("function", f"a function that returns {type(model).__name__}", "a trained nn.Module")
        if not finite(model):
            raise Diverged(
                "learning_rate",
                self.learning_rate,
                "finite weights after training, but some are not",
                "Use a smaller learning rate, or scale the inputs.",
            )
        if progress is not None:
            progress(self.epochs, self.epochs)
        model.zero_grad(set_to_none=True)
        return model.to(device).eval()
