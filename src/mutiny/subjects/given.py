"""A subject, or a model with data, in one common form for all verbs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.models import Forward, check_model
from mutiny.models.device import placement
from mutiny.models.forward import as_forward
from mutiny.models.in_use import in_use
from mutiny.subjects.data import Data, as_data, as_pool
from mutiny.subjects.data.labels import matched
from mutiny.subjects.inference.passes import first_call
from mutiny.subjects.subject import Subject, as_device, on_device
from mutiny.subjects.tasks import Classification, Task


@dataclass(frozen=True)
class Given:
    """One or several models, the inputs to examine, and further knowledge about them.

    Attributes:
        name: Name of the subject, or of the model's class.
        data: Inputs to examine; their targets may be unknown.
        source: Description of where the inputs come from.
        train: Training set of the model, if known.
        task: Task of the model.
        forward: Function that calls a model.
        subject: The subject; ``None`` for a bare model.
        model: The bare model; ``None`` for a subject, and if answers were recorded elsewhere.
    """

    name: str
    data: Data
    source: str
    train: Data | None
    task: Task
    forward: Forward
    subject: Subject | None
    model: nn.Module | None

    @property
    def models(self) -> list[nn.Module]:
        """The models that the user gave."""
        return [*self.subject.models] if self.subject is not None else [] if self.model is None else [self.model]

    def originals(
        self, count: int | None, seed: int, device: str | None, folder: Path | None, progress: Progress
    ) -> list[nn.Module]:
        """The models; by default all models of the subject, or one trained by its recipe."""
        if self.subject is None:
            model = check_model(self.model, "model")
            return [model if device is None else on_device(model, as_device(device))]
        return self.subject.ready(self.count(count), seed=seed, device=device, folder=folder, progress=progress)

    def device(self, wanted: str | None) -> str:
        """Name of the device on which the models run."""
        if self.subject is not None:
            return self.subject.device(wanted)
        if self.model is None:
            return "cpu"
        return str(placement(self.model).device if wanted is None else as_device(wanted))

    def count(self, wanted: int | None) -> int:
        """Number of models; by default all models of the subject, or one trained by its recipe."""
        if wanted is not None:
            return wanted
        return 1 if self.subject is None else len(self.subject.models) or 1


def only_first(originals: int, done: str) -> Iterator[str]:
    """Caveat of a verb that uses one original of a subject with several.

    >>> [*only_first(3, "was examined")]
    ['The subject has 3 originals; only the first was examined.']
    """
    if originals > 1:
        yield f"The subject has {originals} originals; only the first {done}."


def as_given(
    subject: Any, data: Any, train: Any, task: Task | None, forward: Forward | None, argument: str, pool: bool
) -> Given:
    """Converts a subject, or a model with its data, into one form.

    Args:
        subject: A `Subject` or a model.
        data: Inputs to examine; by default those of the subject.
        train: Training set of the model; refused with a subject, as are ``task`` and ``forward``.
        task: Task; guessed from the number of outputs by default.
        forward: Function that calls the model.
        argument: Name of ``data`` in error messages.
        pool: Whether a subject's pool is preferred to its test set.
    """
    _check_task(task)
    if isinstance(subject, Subject):
        _refuse_beside_subject(train=train, task=task, forward=forward)
        inputs, source = subject.test, "the test set"
        if data is not None:
            inputs, source = as_pool(data, argument), "given"
        elif pool and subject.pool is not None:
            inputs, source = subject.pool, "the subject's pool"
        inputs = matched(inputs, subject.train, subject.task)
        return Given(subject.name, inputs, source, subject.train, subject.task, subject.forward, subject, None)
    if not isinstance(subject, nn.Module):
        raise _no_subject(subject, f"{argument}=inputs")
    if data is None:
        raise BadInput(argument, None, "inputs for the model", f"Give {argument}=inputs.")
    inputs, call = as_pool(data, argument), as_forward(forward)
    with in_use(subject, call):
        model = check_model(subject, "model")
        known = None if train is None else as_data(train, "train")
        task = task or _guessed(model, inputs, call)
    return Given(type(model).__name__, matched(inputs, known, task), "given", known, task, call, None, model)


def as_subject(
    subject: Any, data: Any, train: Any, task: Task | None, forward: Forward | None, validation: Any = None
) -> Subject:
    """The given subject, or one made of a model, its test set and, if they are known, its other sets.

    Args:
        subject: A `Subject` or a model.
        data: Test set of a model, inputs and targets; refused with a subject, as are the others.
        train: Training set of a model.
        task: Task; guessed from the number of outputs by default.
        forward: Function that calls the model.
        validation: Validation set of a model.
    """
    _check_task(task)
    if isinstance(subject, Subject):
        _refuse_beside_subject(data=data, train=train, task=task, forward=forward, validation=validation)
        return subject
    if not isinstance(subject, nn.Module):
        raise _no_subject(subject, "data=(inputs, targets) and validation=(inputs, targets)")
    if data is None:
        raise BadInput("data", None, "the test set of the model", "Give data=(inputs, targets).")
    with in_use(subject, forward):
        model, call = check_model(subject, "model"), as_forward(forward)
        known, tests = None if train is None else as_data(train, "train"), as_data(data, "data")
        task = task or _guessed(model, tests, call)
    return Subject(
        model,
        task=task,
        train=known,
        test=matched(tests, known, task),
        validation=None if validation is None else matched(as_data(validation, "validation"), known, task),
        forward=forward,
        name=type(model).__name__,
    )


def _check_task(task: Any) -> None:
    if task is not None and not isinstance(task, Task):
        raise BadInput("task", repr(task), "mutiny.Classification(classes) or mutiny.Regression(tolerance=...)")


def _refuse_beside_subject(**arguments: Any) -> None:
    """Raises `BadInput` for arguments that a subject holds already."""
    for name, value in arguments.items():
        if value is not None:
            expected = f"{name}= only with a model, because a Subject has its own"
            raise BadInput(name, "given with a Subject", expected, f"Leave out {name}=.")


def _guessed(model: nn.Module, data: Data, forward: Forward) -> Task:
    """Classification with as many classes as the model has outputs."""
    put = placement(model).put
    with torch.inference_mode():
        outputs = first_call(forward, model, put(data.first(2)), "model")
    if outputs.ndim != 2 or outputs.shape[1] < 2:
        raise BadInput(
            "task",
            None,
            f"a task for outputs of shape {tuple(outputs.shape)}",
            "Give task=mutiny.Classification(2) or task=mutiny.Regression(tolerance=...).",
        )
    return Classification(outputs.shape[1])


def _no_subject(value: Any, arguments: str) -> BadInput:
    """The error for something that is neither a subject nor a model."""
    if isinstance(value, str):
        value, fix = repr(value), f"Load a subject by its name: mutiny.load_subject({value!r})."
    else:
        several = isinstance(value, (list, tuple)) and any(isinstance(item, nn.Module) for item in value)
        value, fix = type(value).__name__, "Put several models into mutiny.Subject(models=[...])." if several else ""
    return BadInput("subject", value, f"a mutiny.Subject, or a model with {arguments}", fix)
