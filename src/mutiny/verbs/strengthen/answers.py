"""Answers to a pool, and how a fault changes them: as expected without labels, and as it is with labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from torch import Tensor, nn

from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import Pace, rows
from mutiny.subjects.tasks import Classification, Regression, Task

Answers = npt.NDArray[Any]
"""Classes ``(n,)``, -1 for outputs that are not finite; for regression the outputs, ``(n, d)``."""
Belief = npt.NDArray[np.float32]
"""Predicted labels: mean class probabilities of the originals ``(n, classes)``, or mean outputs ``(n, d)``."""
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]
FARTHEST = 10.0
"""An output that is not finite is replaced by one that is this many times as large as the largest clean output."""


class ExpectedChange(NamedTuple):
    """What some changed answers are expected to add to the statistic of the paired test, from predicted labels.

    Attributes:
        mean: For classification, the probability that an answer is broken minus that it is repaired; for regression,
            the expected signed rank of the change, as a share of the largest rank, ``(k,)``.
        square: Expected square of the same, ``(k,)``.
    """

    mean: Singles
    square: Singles


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


def changed(before: Answers, after: Answers) -> Ints:
    """Positions of the answers that differ."""
    differ = before != after
    return np.flatnonzero(differ if differ.ndim == 1 else differ.any(axis=1))


def expected_change(task: Task, before: Answers, after: Answers, belief: Belief, noise: float) -> ExpectedChange:
    """How much worse the answers of a fault are expected to be than those of its original.

    A class is right with the probability that the originals give it. The target of a regression is their mean output
    plus noise; the loss grows if the target is nearer to the output of the original than to that of the fault.

    Args:
        task: Task.
        before: Answers of the original, ``(k,)`` or ``(k, d)``.
        after: Answers of the fault.
        belief: Predicted labels of the same inputs.
        noise: Mean loss of the original on the test set, for regression.

    >>> belief = np.array([[0.75, 0.25]], np.float32)
    >>> expected_change(Classification(2), np.array([0]), np.array([1]), belief, 0.0)
    ExpectedChange(mean=array([0.5], dtype=float32), square=array([1.], dtype=float32))
    """
    if isinstance(task, Classification):
        row = np.arange(len(before))
        broken, repaired = belief[row, before], np.where(after >= 0, belief[row, after], np.float32(0))
        return ExpectedChange(broken - repaired, broken + repaired)
    farthest = FARTHEST * (1 + float(np.abs(before).max(initial=0.0)))
    moved = np.clip(np.nan_to_num(after, nan=farthest), -farthest, farthest)
    growth = (np.square(moved - belief) - np.square(before - belief)).sum(axis=1)
    variance = noise if task.metric == "mse" else np.pi / 2 * noise**2
    spread = 2 * np.sqrt(variance * np.square(moved - before).sum(axis=1))
    sign = special.erf(growth / np.maximum(spread, np.finfo(float).tiny) / np.sqrt(2))
    rank = signed_ranks(np.abs(growth) + spread)
    return ExpectedChange((rank * sign).astype(np.float32), np.square(rank).astype(np.float32))


def signed_ranks(change: npt.ArrayLike) -> Floats:
    """Ranks of the sizes of changes, as shares of the largest rank, with the signs of the changes.

    >>> signed_ranks([0.5, -0.1, 0.2, -7.0]).tolist()
    [0.75, -0.25, 0.5, -1.0]
    """
    values = np.nan_to_num(np.asarray(change, float), nan=np.inf, posinf=np.inf, neginf=-np.inf)
    ranks: Floats = np.sign(values) * stats.rankdata(np.abs(values)) / max(1, len(values))
    return ranks


def known_change(task: Task, before: Answers, after: Answers, targets: npt.NDArray[Any]) -> Singles:
    """How much worse the answers of a fault are than those of its original, ``(k,)``; `Runner.change` with labels.

    >>> known_change(Classification(3), np.array([0, 1, 1]), np.array([1, 2, 0]), np.array([0, 2, 2])).tolist()
    [1.0, -1.0, 0.0]
    """
    if isinstance(task, Classification):
        right: Singles = (before == targets).astype(np.float32)
        still: Singles = (after == targets).astype(np.float32)
        return right - still
    return (_loss(task, after, targets) - _loss(task, before, targets)).astype(np.float32)


def _loss(task: Regression, outputs: Answers, targets: npt.NDArray[Any]) -> Floats:
    errors = np.abs(outputs - targets)
    loss: Floats = (np.square(errors) if task.metric == "mse" else errors).mean(axis=1)
    return loss
