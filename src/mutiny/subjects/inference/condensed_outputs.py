"""What is kept of a model's outputs for every input: few numbers from which answers, margins and losses follow."""

from __future__ import annotations

import torch
from torch import Tensor

from mutiny.subjects.tasks import Classification, Regression, Task

KEEP = 32
"""Most numbers kept per input."""
FLOOR = 1e-30
"""Probabilities below this count as this, so that their logarithm is a number."""


def condense(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    """``(n, q)`` float32 with ``q <= KEEP``.

    Classification: logits (logarithms of probabilities); with many classes only the true one and the best other one.
    Regression: errors of each output; with many outputs only the loss.

    >>> condense(Classification(2, "logits"), torch.tensor([[1.0, 3.0]]), torch.tensor([0]))
    tensor([[1., 3.]])
    """
    if not isinstance(task, Classification):
        errors = outputs.reshape(len(outputs), -1).double() - targets
        return errors.float() if errors.shape[1] <= KEEP else task.judge(outputs, targets)[1].float()[:, None]
    values = outputs.float()
    if values.ndim == 1 or values.shape[1] == 1:
        one = values.reshape(-1, 1)
        return one if task.outputs == "logits" else (one.clamp(min=FLOOR) / (1 - one).clamp(min=FLOOR)).log()
    values = values if task.outputs == "logits" else values.clamp(min=FLOOR).log()
    if values.shape[1] <= KEEP:
        return values
    true, other = _true_and_other(values, targets)
    return torch.stack((true, other), dim=1)


def by_columns(rows: Tensor) -> Tensor:
    """The same numbers ``(n, q)``, column after column in memory: few and long ones are what processors like."""
    return rows.T.contiguous().T


def margins(task: Classification, condensed: Tensor, targets: Tensor) -> Tensor:
    """``(n,)``: by how much the true class leads, negative where it does not. NaN counts as hopeless.

    >>> margins(Classification(2, "logits"), torch.tensor([[1.0, 3.0], [1.0, 3.0]]), torch.tensor([0, 1]))
    tensor([-2.,  2.])
    """
    if condensed.shape[1] == 1:
        lead = condensed[:, 0] * (2 * targets - 1)
    elif task.classes > KEEP:
        lead = condensed[:, 0] - condensed[:, 1]
    else:
        true, other = _true_and_other(condensed, targets)
        lead = true - other
    return lead.nan_to_num(nan=-torch.inf)


def losses(task: Regression, condensed: Tensor, targets: Tensor) -> Tensor:
    """``(n,)``: each input's share of a regression metric."""
    if targets.shape[1] > KEEP:
        return condensed[:, 0]
    return condensed.square().mean(dim=1) if task.metric == "mse" else condensed.abs().mean(dim=1)


def close(task: Regression, condensed: Tensor, targets: Tensor) -> Tensor:
    """``(n,)``: whether every error is within the tolerance; with many outputs, whether the mean one is."""
    if targets.shape[1] > KEEP:
        return condensed[:, 0] <= (task.tolerance**2 if task.metric == "mse" else task.tolerance)
    return (condensed.abs() <= task.tolerance).all(dim=1)


def _true_and_other(values: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    true = values.gather(1, targets[:, None])[:, 0]
    return true, values.scatter(1, targets[:, None], -torch.inf).amax(dim=1)
