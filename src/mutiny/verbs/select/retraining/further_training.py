"""Copies of a model that are trained further."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward, default_forward
from mutiny.models.placement import placement
from mutiny.subjects.data import Data
from mutiny.subjects.tasks import Task
from mutiny.subjects.training import Recipe


def further(
    model: nn.Module, recipe: Recipe | None = None, epochs: int = 3, learning_rate: float | None = None
) -> Recipe:
    """A recipe that starts from a copy of ``model``.

    It is the given one at a tenth of its learning rate; without one it is the paper's: SGD with Nesterov momentum 0.99
    at a learning rate of 0.001, with a cosine schedule in place of steps, and batches of 128.

    >>> further(nn.Linear(1, 2), Recipe(lambda: nn.Linear(1, 2), learning_rate=0.05)).learning_rate
    0.005
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise BadInput("model", "one without trainable parameters", "some to train", "Use model.requires_grad_().")
    usual = recipe or Recipe(
        type(model), batch_size=128, learning_rate=1e-2, optimizer="sgd",
        optimizer_settings={"momentum": 0.99, "nesterov": True}, schedule="cosine",
    )  # fmt: skip
    rate = usual.learning_rate / 10 if learning_rate is None else learning_rate
    return replace(usual, build=partial(copy.deepcopy, model), epochs=epochs, learning_rate=rate)


def retrained(
    model: nn.Module,
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    *,
    forward: Forward = default_forward,
    progress: Callable[[int, int], None] | None = None,
) -> nn.Module:
    """A copy of the model in evaluation mode, trained by the recipe that `further` made, on the model's device."""
    with torch.enable_grad():
        return recipe.train(data, task, seed, forward=forward, device=placement(model).device, progress=progress)
