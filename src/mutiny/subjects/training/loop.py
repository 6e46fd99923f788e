"""The training loop, and the schedules of its learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, Diverged
from mutiny.core.random import generator_for, seed_for
from mutiny.models import Forward
from mutiny.models.device import placement
from mutiny.subjects.data import Data
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.tasks import Task
from mutiny.subjects.training.initializers import initialize
from mutiny.subjects.training.losses import Loss, loss_for, penalties

if TYPE_CHECKING:
    from mutiny.subjects.training.recipe import Recipe

_WARM_UP, _FIRST, _LAST = 0.3, 1 / 25, 1 / 25e4  # as torch.optim.lr_scheduler.OneCycleLR by default


def train(
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    *,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
    watch: Callable[[Epoch], None] | None = None,
) -> nn.Module:
    """Builds a network and trains it; the result depends on the arguments only, and global generators are untouched.

    Initial weights and dropout follow ``seed_for(seed, "train")``, the order of items ``generator_for(seed,
    "shuffle")``. A last batch of one item joins the batch before it, because batch normalization cannot take it alone.

    Args:
        recipe: Recipe of the network.
        data: Training split.
        task: Task, which determines targets and loss.
        seed: Seed of everything random. The same seed gives the same network on the same device and number of threads.
        forward: Function that calls the network; ``network(inputs)`` by default.
        device: Torch device of the training and of the trained network.
        progress: Function that is called after each epoch with the number of finished epochs and of all epochs.
        watch: Function that is called with an `Epoch` after each epoch; it must not change the network.

    Raises:
        Diverged: Loss or weights are no longer finite.
    """
    targets = torch.from_numpy(task.check_targets(data.targets, "train")).to(device)
    learned, validation = _split(len(data), recipe.validation, seed)
    with seeded(seed_for(seed, "train"), device):
        model = built(recipe).to(device).train()
        put = placement(model).put
        optimizer = recipe.make_optimizer([p for p in model.parameters() if p.requires_grad])
        rates = [group["lr"] for group in optimizer.param_groups]
        penalty = penalties(model, recipe.regularizers)
        orders = generator_for(seed, "shuffle")
        loss = recipe.loss if callable(recipe.loss) else None
        total, step = recipe.epochs * batches_in(len(learned), recipe.batch_size), 0
        curve: list[float] = []
        for epoch in range(recipe.epochs):
            losses = torch.zeros((), device=device)
            for chosen in shuffled(len(learned), recipe.batch_size, orders):
                for group, rate in zip(optimizer.param_groups, rates, strict=True):
                    group["lr"] = rate * SCHEDULES[recipe.schedule](step, total)
                chosen = learned[chosen]
                inputs = put(data.read(chosen))
                outputs = model(inputs) if forward is None else forward(model, inputs)
                loss = loss or first_loss(recipe, task, outputs)
                value = loss(outputs, targets[torch.from_numpy(chosen).to(device)])
                value = value if penalty is None else value + penalty()
                optimizer.zero_grad(set_to_none=True)
                value.backward()  # type: ignore[no-untyped-call]  # torch does not annotate it
                _clip(model, recipe)
                optimizer.step()
                losses += value.detach()
                step += 1
            if not losses.isfinite() or not finite(model):
                raise Diverged(
                    "learning_rate",
                    recipe.learning_rate,
                    f"a finite loss, but in epoch {epoch + 1} it was not",
                    "Use a smaller learning rate, or scale the inputs.",
                )
            assert loss is not None
            if len(validation):
                with _evaluation_mode(model, device):
                    curve.append(_mean_loss(model, data, targets, validation, recipe.batch_size, loss, forward, device))
            else:
                curve.append(float(losses) / batches_in(len(learned), recipe.batch_size))
            if progress is not None:
                progress(epoch + 1, recipe.epochs)
            if watch is not None:
                watch(Epoch(epoch + 1, tuple(curve), model))
            if recipe.patience is not None and stops(curve, recipe.patience):
                break
    model.zero_grad(set_to_none=True)
    return model.eval()


class Epoch(NamedTuple):
    """State of a training after an epoch.

    Attributes:
        number: Number of the epoch, from 1.
        curve: Loss that early stopping uses, one value per epoch so far.
        model: Network after the epoch, in training mode.
    """

    number: int
    curve: tuple[float, ...]
    model: nn.Module


def stops(curve: Sequence[float], patience: int) -> bool:
    """Whether early stopping ends training: the last ``patience`` losses are not better than the best before them.

    >>> stops([3.0, 2.0, 2.5], 1), stops([3.0, 2.0, 2.5], 2), stops([3.0, 2.0, 2.0, 2.1], 2)
    (True, False, True)
    """
    best = min(
        range(len(curve)), key=curve.__getitem__
    )  # the first of equal losses, since the later ones were not better
    return len(curve) - 1 - best >= patience


def _split(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the items for training and for validation, each in the order of the data."""
    if not share:
        return np.arange(n), np.arange(0)
    order = generator_for(seed, "validation").permutation(n)
    cut = max(1, round(share * n))
    if cut >= n:
        raise BadInput("validation", share, f"fewer than all of {n} items")
    return np.sort(order[cut:]), np.sort(order[:cut])


@contextmanager
def _evaluation_mode(model: nn.Module, device: torch.device | str) -> Iterator[None]:
    """Context with evaluation mode and without gradients, which leaves the global generators unchanged."""
    with seeded(0, device), torch.no_grad():
        model.eval()
        try:
            yield
        finally:
            model.train()


def _mean_loss(
    model: nn.Module,
    data: Data,
    targets: Tensor,
    chosen: np.ndarray,
    size: int,
    loss: Loss,
    forward: Forward | None,
    device: torch.device | str,
) -> float:
    total = 0.0
    for at in range(0, len(chosen), size):
        some = chosen[at : at + size]
        inputs = placement(model).put(data.read(some))
        outputs = model(inputs) if forward is None else forward(model, inputs)
        total += float(loss(outputs, targets[torch.from_numpy(some).to(device)])) * len(some)
    return total / len(chosen)


def _clip(model: nn.Module, recipe: Recipe) -> None:
    if recipe.clip_norm is not None:
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
    if recipe.clip_value is not None:
        nn.utils.clip_grad_value_(model.parameters(), recipe.clip_value)


def built(recipe: Recipe) -> nn.Module:
    """A new network from the recipe. The caller seeds the generators."""
    model = recipe.build()
    if not isinstance(model, nn.Module):
        raise BadInput("build", f"a function that returns {type(model).__name__}", "a new nn.Module on each call")
    for change in recipe.changes:
        model = change.apply(model)
    initialize(model, recipe.initializers)
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise BadInput("build", "a network without trainable parameters", "a network that can be trained")
    return model


def shuffled(n: int, size: int, generator: np.random.Generator) -> Iterator[np.ndarray]:
    """Indices of ``n`` items in random order, in batches.

    >>> [len(batch) for batch in shuffled(9, 4, generator_for(0, "demo"))]
    [4, 5]
    """
    order = generator.permutation(n)
    yield from (order[start:end] for start, end in _cuts(n, size))


def batches_in(n: int, size: int) -> int:
    """Number of batches that :func:`shuffled` yields."""
    return len(_cuts(n, size))


def _cuts(n: int, size: int) -> list[tuple[int, int]]:
    starts = list(range(0, n, size))
    if n > size > 1 and n % size == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], n], strict=True))


def first_loss(recipe: Recipe, task: Task, outputs: Any) -> Loss:
    """The loss that the recipe names, or the default of the task, for a network with these outputs."""
    if not isinstance(outputs, Tensor):
        raise BadInput(
            "model output",
            type(outputs).__name__,
            "a tensor with one row per input",
            "Give a forward=... that returns the tensor to learn from.",
        )
    return loss_for(task, outputs.detach(), recipe.loss if isinstance(recipe.loss, str) else None)


def finite(model: nn.Module) -> bool:
    """Whether all weights are finite numbers."""
    return all(bool(parameter.isfinite().all()) for parameter in model.parameters())


def none(step: int, total: int) -> float:  # noqa: ARG001  all schedules have one signature
    """Constant learning rate."""
    return 1.0


def cosine(step: int, total: int) -> float:
    """From 1 to nearly 0 along half a cosine (Loshchilov and Hutter, 2017).

    >>> round(cosine(0, 10), 2), round(cosine(5, 10), 2)
    (1.0, 0.5)
    """
    return (1 + math.cos(math.pi * step / total)) / 2


def onecycle(step: int, total: int) -> float:
    """Up from 1/25 in the first 30 % of the steps, then down to nearly 0 (Smith and Topin, 2018). Momentum is constant.

    >>> round(onecycle(0, 11), 2), round(onecycle(10, 11), 2)
    (0.04, 0.0)
    """
    peak = _WARM_UP * total - 1
    if step <= peak:
        return _between(_FIRST, 1.0, step / peak if peak > 0 else 1.0)
    return _between(1.0, _LAST, (step - peak) / (total - 1 - peak))


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2


SCHEDULES: dict[str, Callable[[int, int], float]] = {"none": none, "cosine": cosine, "onecycle": onecycle}
"""Schedules by name: factor of the learning rate as a function of the step (from 0) and the number of steps."""
