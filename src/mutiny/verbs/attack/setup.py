"""The model under attack and its inputs, checked before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models import Forward, ModelState, default_forward
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.inference.passes import check_constant, repeats, settle
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.attack.attacked_model import AttackedModel, copying


def labeled(subject: Subject | nn.Module, data: Any, task: Task | None, forward: Forward | None) -> Given:
    """Returns the model and its labeled data; raises `BadInput` without a classification or without labels."""
    if not isinstance(subject, Subject):
        forward = copying(forward or default_forward)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    if not isinstance(given.task, Classification):
        raise BadInput("task", type(given.task).__name__, "Classification: regression has no answer to change")
    if unknown(given.data.targets, given.task):
        raise BadInput("data", "unknown labels", "labeled inputs")
    return given


def attacked_model(
    given: Given,
    model: nn.Module,
    before: ModelState,
    count: int,
    seed: int,
    batch_size: int,
    low: float = 0.0,
    high: float = 1.0,
) -> tuple[AttackedModel, bool]:
    """Returns the model with inputs drawn at random, and whether it answers the same input in the same way twice.

    Args:
        given: Subject, or model and data.
        model: First original.
        before: State of the model before any forward pass.
        count: Number of inputs to draw; all if there are fewer.
        seed: Seed of the draw.
        batch_size: Inputs per forward pass.
        low: Smallest value of an input.
        high: Largest value of an input.
    """
    call = copying(given.forward)
    repeatable = repeats(model, given.data, call)
    check_constant(model, before)
    task = settle(given.task, [model], given.data, call, batch_size)
    assert isinstance(task, Classification)
    indices = np.sort(generator_for(seed, "attack", "inputs").permutation(len(given.data))[:count])
    return AttackedModel(model, given.data, task, given.forward, indices, seed, batch_size, low, high), repeatable
