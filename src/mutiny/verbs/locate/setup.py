"""The model under test: its inputs, and what counts as a failure, checked before any work."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward, check_model
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given
from mutiny.subjects.inference.passes import settle
from mutiny.subjects.subject import as_device, on_device
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.locate.failures import ByLabel, ByModel, ByOracle, Failing, Oracle
from mutiny.verbs.locate.model_under_test import ModelUnderTest


def model_under_test(
    given: Given,
    model: nn.Module,
    repeatable: bool,
    oracle: Oracle | None,
    against: Any,
    seed: int,
    device: str | None,
    batch_size: int | None,
) -> ModelUnderTest:
    """A model with its inputs, and what counts as a failure."""
    task = settle(given.task, [model], given.data, given.forward, batch_size)
    targets = _targets(given, task, oracle is None and against is None)
    failing = _failing(task, targets, oracle, against, given.forward, device)
    classes = targets if isinstance(task, Classification) else None
    return ModelUnderTest(model, task, given.data, failing, classes, given.forward, seed, batch_size, repeatable)


def check_failures(oracle: Any, against: Any) -> None:
    """Raises an error unless at most one of these tells failures."""
    if oracle is not None and against is not None:
        raise BadInput("against", "a model", "either oracle or against")
    if oracle is not None and not callable(oracle):
        raise BadInput("oracle", repr(oracle), "a function of inputs and outputs")


def check_reading(at: Any) -> None:
    """Raises an error unless this is a way to read a neuron."""
    if at not in ("signal", "output"):
        raise BadInput("at", repr(at), "signal or output")


def _targets(given: Given, task: Task, needed: bool) -> Tensor | None:
    missing = unknown(given.data.targets, task)
    if missing and needed:
        raise BadInput(
            "data", f"{missing} of {len(given.data)} labels unknown", "labeled inputs",
            "Give an oracle=... that tells failures, or against=... another model.",
        )  # fmt: skip
    return None if missing else torch.from_numpy(task.check_targets(given.data.targets, "data"))


def _failing(
    task: Task, targets: Tensor | None, oracle: Oracle | None, other: Any, forward: Forward, device: str | None
) -> Failing:
    if oracle is not None:
        return ByOracle(oracle)
    if other is not None:
        model = check_model(other, "against")
        return ByModel(task, model if device is None else on_device(model, as_device(device)), forward)
    assert targets is not None
    return ByLabel(task, targets)
