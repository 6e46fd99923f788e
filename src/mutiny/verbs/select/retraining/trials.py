"""Trials of retraining: rank candidates, train a copy of a model further, and evaluate it."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.random import generator_for, seed_for
from mutiny.models import Forward, default_forward
from mutiny.models.device import placement
from mutiny.subjects.data import Data, Mutation
from mutiny.subjects.data.joined import Joined
from mutiny.subjects.inference.passes import Pace, evaluate
from mutiny.subjects.tasks import Task
from mutiny.subjects.training import Recipe
from mutiny.verbs.select.base import Order, Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.ranking import Refused
from mutiny.verbs.select.retraining.roles import Roles, some_of


@dataclass(frozen=True)
class Start:
    """A repeat before any training.

    Attributes:
        accuracies: Accuracy of the original on each evaluation set.
        judges: Number of inputs in each evaluation set.
        candidates: Number of inputs to choose from.
        train_inputs: Number of training inputs that are used again.
    """

    accuracies: list[float]
    judges: tuple[int, ...]
    candidates: int
    train_inputs: int


@dataclass(eq=False)
class Trials:
    """State of all repeats: models, a recipe for each, and the inputs to choose from and to evaluate on.

    The repeat decides the seed, the model under test (models take turns), the candidates and the evaluation sets.
    """

    models: Sequence[nn.Module]
    recipes: Sequence[Recipe]
    task: Task
    train: Data
    forward: Forward
    roles: Roles
    seed: int
    batch_size: int
    evidence: dict[int, Evidence] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        """State without evidence, which each worker computes itself."""
        return {**self.__dict__, "evidence": {}}

    def rank(
        self, repeat: int, method: Selector, layers: str | Sequence[str] | None, mutate: Mutation | None
    ) -> Order | Refused:
        """Ranks the candidates of a repeat by a method."""
        if repeat not in self.evidence:
            first = repeat % len(self.models)
            self.evidence = {  # of one repeat only, to bound memory
                repeat: Evidence(
                    (*self.models[first:], *self.models[:first]),
                    self.task,
                    self._drawn(repeat)[0],
                    self.train,
                    forward=self.forward,
                    seed=self._seed(repeat),
                    layers=layers,
                    mutate=mutate,
                    batch_size=self.batch_size,
                )
            }
        try:
            return method.rank(self.evidence[repeat])[0]
        except (NotApplicable, BadInput) as reason:
            return Refused.of(reason)

    def start(self, repeat: int, train_inputs: int | None) -> Start:
        """Evaluates the original of a repeat."""
        candidates, judges = self._drawn(repeat)
        accuracies = self._accuracies(self.models[repeat % len(self.models)], judges)
        return Start(accuracies, tuple(map(len, judges)), len(candidates), len(self._again(repeat, train_inputs)))

    def retrain(self, repeat: int, chosen: Order | None, train_inputs: int | None) -> list[float]:
        """Trains a copy with the chosen candidates (``None``: with none) and returns its accuracies."""
        candidates, judges = self._drawn(repeat)
        data = self._again(repeat, train_inputs)
        if chosen is not None:
            data = Joined(data, candidates.subset(chosen))
        turn, seed = repeat % len(self.models), seed_for(self._seed(repeat), "retraining")
        model = retrained(self.models[turn], self.recipes[turn], data, self.task, seed, self.forward)
        return self._accuracies(model, judges)

    def _seed(self, repeat: int) -> int:
        return seed_for(self.seed, "repeat", repeat) if repeat else self.seed

    def _drawn(self, repeat: int) -> tuple[Data, list[Data]]:
        return self.roles.drawn(generator_for(self._seed(repeat), "retraining", "halves"))

    def _again(self, repeat: int, train_inputs: int | None) -> Data:
        """Training inputs that are used again, the same for all methods."""
        return some_of(self.train, train_inputs, generator_for(self._seed(repeat), "retraining", "train"))

    def _accuracies(self, model: nn.Module, judges: Sequence[Data]) -> list[float]:
        accuracies = []
        for data in judges:
            targets = torch.from_numpy(self.task.check_targets(data.targets, "judging")).to(placement(model).device)
            call = partial(self.forward, model)
            accuracies.append(evaluate(call, model, data, targets, self.task, Pace(self.batch_size)).metric)
        return accuracies


def retraining_recipe(
    model: nn.Module, recipe: Recipe | None = None, epochs: int = 3, learning_rate: float | None = None
) -> Recipe:
    """A recipe that continues the training of a copy of ``model``.

    Args:
        model: Model to copy; an error if it has no trainable parameters.
        recipe: Recipe of the original training. By default that of the NSS paper: SGD with Nesterov momentum 0.99 and
            batches of 128, but with a cosine schedule instead of steps.
        epochs: Number of epochs.
        learning_rate: Learning rate; a tenth of the recipe's by default.

    >>> retraining_recipe(nn.Linear(1, 2), Recipe(lambda: nn.Linear(1, 2), learning_rate=0.05)).learning_rate
    0.005
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise BadInput("model", "one without trainable parameters", "some to train", "Use model.requires_grad_().")
    original = recipe or Recipe(
        type(model),
        batch_size=128,
        learning_rate=1e-2,
        optimizer="sgd",
        optimizer_settings={"momentum": 0.99, "nesterov": True},
        schedule="cosine",
    )
    rate = original.learning_rate / 10 if learning_rate is None else learning_rate
    return replace(original, build=partial(copy.deepcopy, model), epochs=epochs, learning_rate=rate)


def retrained(
    model: nn.Module, recipe: Recipe, data: Data, task: Task, seed: int, forward: Forward = default_forward
) -> nn.Module:
    """A copy of the model in evaluation mode, trained by its `retraining_recipe` on the model's device."""
    with torch.enable_grad():
        return recipe.train(data, task, seed, forward=forward, device=placement(model).device)
