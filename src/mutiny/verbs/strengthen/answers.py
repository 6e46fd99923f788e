"""Answers of originals and mutants, independent of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Task

Answers = npt.NDArray[Any]
"""Classes ``(..., n)``, -1 for outputs that are not finite; for regression the outputs, ``(..., n, d)``."""
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def answers_of(task: Task, outputs: Tensor) -> Answers:
    """Answers from the outputs of a model.

    >>> import torch
    >>> answers_of(Classification(3, "logits"), torch.tensor([[0.0, 2.0, 1.0], [torch.nan, 0.0, 0.0]])).tolist()
    [1, -1]
    """
    if not isinstance(task, Classification):
        return outputs.reshape(len(outputs), -1).double().cpu().numpy()
    small = np.int16 if task.classes < np.iinfo(np.int16).max else np.int32
    return task.answers(outputs).cpu().numpy().astype(small)


def answered(call: Callable[[Any], Tensor], model: nn.Module, data: Data, task: Task, pace: Pace) -> Answers:
    """Answers of a model, or of a patched one, to all inputs."""
    return np.concatenate([answers_of(task, outputs) for outputs in rows(call, model, data, pace)])


def right(task: Task, answers: Answers, targets: npt.NDArray[Any]) -> Bools:
    """Correctness of answers, ``(..., n)``; the task must have checked ``targets``."""
    correct: Bools
    if isinstance(task, Classification):
        correct = answers == targets
    else:
        correct = (np.abs(answers - targets) <= task.tolerance).all(axis=-1)
    return correct


def losses(task: Task, answers: Answers, targets: npt.NDArray[Any]) -> Floats | None:
    """Loss of each answer of a regression, ``(..., n)``; ``None`` for classification, which uses `right` instead.

    >>> from mutiny import Regression
    >>> losses(Regression(0.5), np.array([[1.0], [3.0]]), np.array([[1.0], [1.0]])).tolist()
    [0.0, 4.0]
    """
    if isinstance(task, Classification):
        return None
    errors = np.abs(answers - targets)
    loss: Floats = (np.square(errors) if task.metric == "mse" else errors).mean(axis=-1)
    return loss
