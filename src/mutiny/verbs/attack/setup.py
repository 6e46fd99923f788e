"""The model under attack and its inputs, checked before any work."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from mutiny.campaigns.session import Session
from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.models import Forward
from mutiny.models.forward import as_forward
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.attack.attacked_model import AttackedModel, copying


def labeled(subject: Subject | nn.Module, data: Any, task: Task | None, forward: Forward | None) -> Given:
    """Returns the model and its labeled data; raises `BadInput` without a classification or without labels."""
    if not isinstance(subject, Subject):
        forward = copying(as_forward(forward))
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    if not isinstance(given.task, Classification):
        raise BadInput("task", type(given.task).__name__, "Classification: regression has no answer to change")
    if unknown(given.data.targets, given.task):
        raise BadInput("data", "unknown labels", "labeled inputs")
    return given


def attacked_model(session: Session, count: int, low: float = 0.0, high: float = 1.0) -> AttackedModel:
    """Returns the model with inputs drawn at random.

    Args:
        session: Call of a verb.
        count: Number of inputs to draw; all if there are fewer.
        low: Smallest value of an input.
        high: Largest value of an input.
    """
    given, seed, size = session.given, session.seed, session.settings["batch_size"]
    task = session.settled_task()
    assert isinstance(task, Classification)
    indices = np.sort(generator_for(seed, "attack", "inputs").permutation(len(given.data))[:count])
    return AttackedModel(session.model, given.data, task, given.forward, indices, seed, size, low, high)
