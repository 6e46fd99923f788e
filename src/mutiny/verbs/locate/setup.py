"""Builds the model under test, and checks arguments that `locate` and `synthesize` share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mutiny.campaigns.session import Session
from mutiny.core.errors import BadInput
from mutiny.models import Forward, check_model
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given
from mutiny.subjects.subject import as_device, on_device
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.locate.failures import ByLabel, ByModel, ByOracle, Failing, Oracle
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.spectrum import check_class


def model_under_test(session: Session, oracle: Oracle | None, against: nn.Module | None) -> ModelUnderTest:
    """The model with its inputs and its definition of a failure: ``oracle``, ``against``, or else the labels."""
    given, runtime, task = session.given, session.runtime, session.settled_task()
    targets = _targets(given, task, oracle is None and against is None)
    failing = _failing(task, targets, oracle, against, given.forward, runtime.device)
    return ModelUnderTest(
        session.model,
        task,
        given.data,
        failing,
        targets if isinstance(task, Classification) else None,
        given.forward,
        session.seed,
        runtime.batch_size,
        session.repeatable,
    )


def check_failures(oracle: Any, against: Any) -> None:
    """Raises an error unless at most one of the two is given, and the oracle is a function."""
    if oracle is not None and against is not None:
        raise BadInput("against", "a model", "either oracle or against")
    check_function("oracle", oracle, "inputs and outputs")


def check_function(name: str, function: Any, arguments: str) -> None:
    """Raises an error unless ``function`` is a function or ``None``."""
    if function is not None and not callable(function):
        raise BadInput(name, repr(function), f"a function of {arguments}")


def check_reading(at: Any) -> None:
    """Raises an error unless ``at`` names a place where neurons are read."""
    if at not in ("signal", "output"):
        raise BadInput("at", repr(at), "signal or output")


def check_classes(task: Task, label: Any, by_class: bool) -> None:
    """Raises an error for a class that the task does not have; regression has none."""
    for name, value, asked in (("label", label, label is not None), ("by_class", by_class, by_class)):
        if asked and not isinstance(task, Classification):
            raise BadInput(name, value, "a classifier, which has classes", f"Leave out {name} for regression.")
    if label is not None and isinstance(task, Classification):
        check_class("label", label, task.classes)


def _targets(given: Given, task: Task, needed: bool) -> Tensor | None:
    missing = unknown(given.data.targets, task)
    if missing and needed:
        fix = "Give an oracle=... that identifies failures, or against=... another model."
        raise BadInput("data", f"{missing} of {len(given.data)} labels unknown", "labeled inputs", fix)
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
