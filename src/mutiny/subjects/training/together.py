"""Training of several small networks at once: their weights are stacked, and each step updates all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap

from mutiny.core.random import generator_for, seed_for
from mutiny.models.device import placement
from mutiny.models.forward import Forward, ForwardModule
from mutiny.subjects.data import Data
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Task
from mutiny.subjects.training.loop import SCHEDULES, batches_in, built, first_loss, shuffled
from mutiny.subjects.training.recipe import Recipe

ELEMENTWISE = (
    "sgd",
    "adam",
    "adamw",
    "adamax",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "adagrad",
    "adadelta",
    "asgd",
)
"""Optimizers that update each weight independently of the others, so that stacking does not change the result."""


def reason_against(recipe: Recipe, data: Sequence[Data]) -> str | None:
    """Reason why training together would give other networks than training one by one; ``None`` if it would not.

    Random numbers that the network itself draws while training would differ too. That is detected during training,
    where :func:`train_together` raises ``RuntimeError``.
    """
    if type(recipe) is not Recipe:
        return "a training function of one's own trains one network"
    if recipe.optimizer.lower() not in ELEMENTWISE:
        return f"{recipe.optimizer} does not update each weight independently"
    if recipe.loss in ("hinge", "squared_hinge"):
        return "torch computes this loss for one network at a time"
    if recipe.validation or recipe.patience is not None:
        return "each network would end at its own epoch"
    if recipe.regularizers:
        return "weights are added to the loss"
    if len({len(split) for split in data}) > 1:
        return "the data sets differ in size"
    with seeded(0):
        model = built(recipe)
    if next(model.buffers(), None) is not None:
        return "the network has buffers besides its weights"
    if any(isinstance(module, nn.modules.dropout._DropoutNd) and module.p for module in model.modules()):
        return "dropout would draw other random numbers"
    return None


def train_together(
    recipe: Recipe,
    data: Sequence[Data],
    task: Task,
    seeds: Sequence[int],
    *,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
) -> list[nn.Module | None]:
    """The networks that :func:`mutiny.subjects.training.loop.train` gives for each split and seed, up to rounding.

    Only valid if :func:`reason_against` returns ``None``. A network whose loss or weights are no longer finite is
    ``None``, and does not affect the others.

    Args:
        recipe: Recipe of the networks.
        data: Training split of each network.
        task: Task, which determines targets and loss.
        seeds: Seed of each network.
        forward: Function that calls a network; ``network(inputs)`` by default.
        device: Torch device of the training and of the trained networks.

    >>> from mutiny.subjects.data import as_data
    >>> from mutiny.subjects.tasks import Classification
    >>> data = as_data((np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2), "train")
    >>> recipe = Recipe(lambda: nn.Linear(3, 2), epochs=3, batch_size=8)
    >>> alone = recipe.train(data, Classification(2), 7)
    >>> _, together = train_together(recipe, [data, data], Classification(2), [5, 7])
    >>> torch.allclose(alone.weight, together.weight, atol=1e-6)
    True
    """
    calls = [ForwardModule(_new(recipe, seed, device), forward or nn.Module.__call__) for seed in seeds]
    put = placement(calls[0]).put
    learned = {name for name, parameter in calls[0].named_parameters() if parameter.requires_grad}
    weights = {n: stack.detach().requires_grad_(n in learned) for n, stack in stack_module_state(calls)[0].items()}
    optimizer = recipe.make_optimizer([weights[name] for name in learned])
    rates = [group["lr"] for group in optimizer.param_groups]
    targets = torch.stack([torch.from_numpy(task.check_targets(split.targets, "train")) for split in data]).to(device)
    orders = [generator_for(seed, "shuffle") for seed in seeds]
    losses_of = vmap(_loss(calls[0], recipe, data[0], task, device), randomness="error")
    total, step = recipe.epochs * batches_in(len(data[0]), recipe.batch_size), 0
    alive = torch.ones(len(seeds), dtype=torch.bool, device=device)
    for _ in range(recipe.epochs):
        for chosen in zip(*(shuffled(len(data[0]), recipe.batch_size, order) for order in orders), strict=True):
            for group, rate in zip(optimizer.param_groups, rates, strict=True):
                group["lr"] = rate * SCHEDULES[recipe.schedule](step, total)
            read = [split.read(indices) for split, indices in zip(data, chosen, strict=True)]
            inputs = put(map_leaves(lambda *tensors: torch.stack(tensors), read[0], *read[1:]))
            rows = torch.from_numpy(np.stack(chosen)).to(device)
            wanted = torch.stack([labels[row] for labels, row in zip(targets, rows, strict=True)])
            losses = losses_of(weights, inputs, wanted)
            optimizer.zero_grad(set_to_none=True)
            losses.sum().backward()
            _clip(weights.values(), recipe)
            optimizer.step()
            alive &= losses.detach().isfinite()
            step += 1
    return list(_apart(calls, weights, alive))


def _new(recipe: Recipe, seed: int, device: torch.device | str) -> nn.Module:
    with seeded(seed_for(seed, "train"), device):
        return built(recipe).to(device).train()


def _loss(call: nn.Module, recipe: Recipe, data: Data, task: Task, device: torch.device | str) -> Any:
    """The loss of one network as a function of weights, inputs and targets."""
    loss = recipe.loss if callable(recipe.loss) else None
    if loss is None:
        with torch.no_grad(), seeded(0, device):
            outputs = call(placement(call).put(data.first(recipe.batch_size)))
        loss = first_loss(recipe, task, outputs)

    def loss_of_network(weights: dict[str, Tensor], inputs: Any, targets: Tensor) -> Tensor:
        value: Tensor = loss(functional_call(call, weights, (inputs,)), targets)
        return value

    return loss_of_network


def _clip(weights: Any, recipe: Recipe) -> None:
    """Clips the gradients of each network separately."""
    gradients = [stack.grad for stack in weights if stack.grad is not None]
    if recipe.clip_norm is not None:
        norms = torch.stack([gradient.flatten(1).norm(dim=1) for gradient in gradients]).norm(dim=0)
        factor = (recipe.clip_norm / (norms + 1e-6)).clamp(max=1.0)  # as torch.nn.utils.clip_grad_norm_
        for gradient in gradients:
            gradient.mul_(factor.reshape(-1, *[1] * (gradient.ndim - 1)))
    if recipe.clip_value is not None:
        for gradient in gradients:
            gradient.clamp_(-recipe.clip_value, recipe.clip_value)


def _apart(calls: Sequence[ForwardModule], weights: dict[str, Tensor], alive: Tensor) -> Iterator[nn.Module | None]:
    for number, call in enumerate(calls):
        state = {name: stack[number].detach().clone() for name, stack in weights.items()}
        finite = bool(alive[number]) and all(bool(value.isfinite().all()) for value in state.values())
        call.load_state_dict(state, strict=False)  # tied weights are stacked under one of their names only
        yield call.model.eval() if finite else None
