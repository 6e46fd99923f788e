"""Defenses that are trained, by label smoothing and by defensive distillation. Public: see docs/attack.md, Defenses."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from mutiny.core.checks import check_whole, is_number
from mutiny.core.errors import BadInput
from mutiny.core.random import seed_for
from mutiny.models import Forward, default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Regression
from mutiny.subjects.training import Recipe


def smoothed(recipe: Recipe, share: float = 0.1) -> Recipe:
    """Returns the recipe with label smoothing (Warde-Farley and Goodfellow, 2016), for a network that returns logits.

    Args:
        recipe: Recipe of the undefended network.
        share: Share of each label that is spread evenly over all classes. MUTEN does not say which; ART's default is
            0.1.

    >>> smoothed(Recipe(lambda: nn.Linear(1, 2)), 0.2).loss(torch.zeros(1, 2), torch.tensor([0]))
    tensor(0.6931)
    """
    _check_recipe(recipe)
    if not is_number(share) or not 0 < share < 1:
        raise BadInput("share", repr(share), "a number between 0 and 1")
    return replace(recipe, loss=partial(functional.cross_entropy, label_smoothing=share))


def distilled(
    recipe: Recipe,
    data: Any,
    task: Classification,
    temperature: float = 20.0,
    *,
    seed: int = 0,
    forward: Forward | None = None,
    device: torch.device | str = "cpu",
) -> nn.Module:
    """Trains a network by defensive distillation (Papernot et al., S&P 2016), for networks that return logits.

    A teacher is trained with its logits divided by the temperature; a student learns the teacher's probabilities at
    that temperature. The student is used without the division, which makes it so confident that gradients vanish.

    Args:
        recipe: Recipe of both networks.
        data: Labeled data: ``(inputs, labels)``, a dataset, a path, or anything that a subject takes as ``train``.
        task: Classification with its classes.
        temperature: Temperature, at least 1; the authors recommend 20 to 100. MUTEN does not say which, and ART has no
            default.
        seed: Seed of teacher and student.
        forward: Function that calls a network.
        device: Torch device for training.
    """
    _check_recipe(recipe)
    if not isinstance(task, Classification):
        raise BadInput("task", type(task).__name__, "mutiny.Classification(classes): a student learns probabilities")
    if not is_number(temperature) or not 1 <= temperature < inf:
        raise BadInput("temperature", repr(temperature), "a number of at least 1")
    check_whole("seed", seed, 0)
    data = as_data(data, "data")
    recipe = replace(recipe, loss=partial(_tempered, temperature=temperature))
    teacher = recipe.train(data, task, seed_for(seed, "teacher"), forward=forward, device=device)
    call = partial(forward or default_forward, teacher)
    logits = torch.cat([batch.float().cpu().clone() for batch in rows(call, teacher, data, Pace())])
    soft = copy(data)
    soft.targets = (logits / temperature).softmax(dim=1).double().numpy()
    # Probabilities are targets of a regression: a classification takes whole labels only.
    return recipe.train(soft, Regression(tolerance=1.0), seed_for(seed, "student"), forward=forward, device=device)


def _tempered(outputs: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """Cross-entropy of logits at a temperature, against classes or probabilities."""
    targets = targets if targets.ndim == 1 else targets.to(outputs.dtype)
    return functional.cross_entropy(outputs / temperature, targets)


def _check_recipe(recipe: object) -> None:
    if not isinstance(recipe, Recipe):
        raise BadInput("recipe", type(recipe).__name__, "a mutiny.Recipe, which says how a network is trained")
