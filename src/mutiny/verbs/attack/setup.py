"""Who is attacked, before anything is known about how."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from torch import nn

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.core.random import generator_for
from mutiny.models import Forward, ModelState, default_forward
from mutiny.subjects import Subject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.inference import determinism as steadiness
from mutiny.subjects.inference.output_kind import settle
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.attack.attacked_model import Field, copying


class Scene(NamedTuple):
    """A model and its inputs, with what a careful reader should know about them."""

    given: Given
    task: Classification
    field: Field
    state: ModelState
    repeatable: bool


def labelled(subject: Subject | nn.Module, data: Any, task: Task | None, forward: Forward | None) -> Given:
    """What the user has given; an error if there is nothing to lose."""
    if not isinstance(subject, Subject):
        forward = copying(forward or default_forward)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    if not isinstance(given.task, Classification):
        raise BadInput("task", type(given.task).__name__, "Classification: regression has no answer to change")
    if unknown(given.data.targets, given.task):
        raise BadInput("data", "unknown labels", "labelled inputs")
    return given


def check_numbers(count: int, seed: int, batch_size: int) -> None:
    """An error for what is no whole number."""
    for name, value, least in (("count", count, 1), ("seed", seed, 0), ("batch_size", batch_size, 1)):
        check_whole(name, value, least)


def scene_of(
    given: Given, count: int, seed: int, device: str | None, batch_size: int, folder: Path | None, progress: Progress
) -> Scene:
    """The model, ready, and the inputs that are attacked, drawn at random."""
    model = given.originals(1, seed, device, folder, progress)[0]
    state, call = ModelState.of(model), copying(given.forward)
    repeatable = steadiness.repeats(model, given.data, call)
    steadiness.check_constant(model, state)
    settled = settle(given.task, [model], given.data, call, batch_size)
    assert isinstance(settled, Classification)
    indices = np.sort(generator_for(seed, "attack", "inputs").permutation(len(given.data))[:count])
    field = Field(model, given.data, settled, given.forward, indices, seed, batch_size)
    return Scene(given, settled, field, state, repeatable)
