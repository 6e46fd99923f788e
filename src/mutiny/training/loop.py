"""The one training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.data import Data
from mutiny.data.nested import to_device
from mutiny.data.seeded import seeded
from mutiny.errors import BadInput
from mutiny.random import generator_for, seed_for
from mutiny.task import Task
from mutiny.training.losses import Loss, loss_for
from mutiny.training.schedules import SCHEDULES

if TYPE_CHECKING:
    from mutiny.training.recipe import Recipe

Forward = Callable[[nn.Module, Any], Tensor]


def train(
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    *,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> nn.Module:
    """Builds a network and trains it; the result depends on the arguments only, and global generators are untouched.

    Initial weights and dropout follow ``seed_for(seed, "train")``, the order of items ``generator_for(seed,
    "shuffle")``. A last batch of one item joins the batch before it, because batch normalisation cannot take it alone.

    Args:
        recipe: how to train.
        data: the training split.
        task: decides targets and loss.
        seed: one seed, one network (on one device, with one number of threads).
        forward: outputs from the network and a batch of inputs; by default the network is called with the inputs.
        device: where to train; the network stays there.
        progress: called after each epoch with epochs done and epochs in total.
    """
    targets = torch.from_numpy(task.check_targets(data.targets, "train")).to(device)
    with seeded(seed_for(seed, "train"), device):
        model = built(recipe).to(device).train()
        optimizer = recipe.make_optimizer([p for p in model.parameters() if p.requires_grad])
        rates = [group["lr"] for group in optimizer.param_groups]
        orders = generator_for(seed, "shuffle")
        loss = recipe.loss if callable(recipe.loss) else None
        total, step = recipe.epochs * len(_cuts(len(data), recipe.batch_size)), 0
        for epoch in range(recipe.epochs):
            losses = torch.zeros((), device=device)
            for chosen in shuffled(len(data), recipe.batch_size, orders):
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * SCHEDULES[recipe.schedule](step, total)
                inputs = to_device(data.read(chosen), device)
                outputs = model(inputs) if forward is None else forward(model, inputs)
                loss = loss or _first_loss(recipe, task, outputs)
                value = loss(outputs, targets[torch.from_numpy(chosen).to(device)])
                optimizer.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
                optimizer.step()
                losses += value.detach()
                step += 1
            if not losses.isfinite() or not _finite(model):
                raise BadInput(
                    "learning_rate", recipe.learning_rate, f"a finite loss, but in epoch {epoch + 1} it was not",
                    "Use a smaller learning rate, or scale the inputs.",
                )  # fmt: skip
            if progress is not None:
                progress(epoch + 1, recipe.epochs)
    model.zero_grad(set_to_none=True)
    return model.eval()


def built(recipe: Recipe) -> nn.Module:
    """A new network from the recipe; the caller seeds."""
    model = recipe.build()
    if not isinstance(model, nn.Module):
        raise BadInput("build", f"a function that returns {type(model).__name__}", "a new nn.Module on each call")
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise BadInput("build", "a network without trainable parameters", "a network that can be trained")
    return model


def shuffled(n: int, size: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """All numbers below ``n`` in a new random order, in batches.

    >>> [len(batch) for batch in shuffled(9, 4, generator_for(0, "demo"))]
    [4, 5]
    """
    order = generator.permutation(n)
    yield from (order[start:end] for start, end in _cuts(n, size))


def _cuts(n: int, size: int) -> list[tuple[int, int]]:
    starts = list(range(0, n, size))
    if n > size > 1 and n % size == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], n], strict=True))


def _first_loss(recipe: Recipe, task: Task, outputs: Any) -> Loss:
    if not isinstance(outputs, Tensor):
        raise BadInput(
            "model output", type(outputs).__name__, "a tensor with one row per input",
            "Give a forward=... that returns the tensor to learn from.",
        )  # fmt: skip
    return loss_for(task, outputs.detach(), recipe.loss if isinstance(recipe.loss, str) else None)


def _finite(model: nn.Module) -> bool:
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())
