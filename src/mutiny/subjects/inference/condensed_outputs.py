"""Condensed outputs: a few numbers per input that determine answers, margins and losses."""

from __future__ import annotations

import torch
from torch import Tensor

from mutiny.subjects.tasks import Classification, Regression, Task, most_probable

KEEP = 32
"""Most numbers kept per input."""
FLOOR = 1e-30
"""Lower limit of probabilities, so that their logarithm is finite."""


def condense(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    """``(n, q)`` float32 with ``q <= KEEP``.

    For classification, logits or logarithms of probabilities; with more than ``KEEP`` classes only those of the true
    and of the best other class. For regression, the error of each output; with more than ``KEEP`` outputs only the
    loss.

    >>> condense(Classification(2, "logits"), torch.tensor([[1.0, 3.0]]), torch.tensor([0]))
    tensor([[1., 3.]])
    """
    if not isinstance(task, Classification):
        errors = outputs.reshape(len(outputs), -1).double() - targets
        return errors.float() if errors.shape[1] <= KEEP else task.judge(outputs, targets)[1].float()[:, None]
    values = outputs.float()
    if values.ndim == 1 or values.shape[1] == 1:
        single = values.reshape(-1, 1)
        if task.outputs == "logits":
            return single
        return (single.clamp(min=FLOOR) / (1 - single).clamp(min=FLOOR)).log()
    values = values if task.outputs == "logits" else values.clamp(min=FLOOR).log()
    if values.shape[1] <= KEEP:
        return values
    true, other = _true_and_other(values, most_probable(targets))
    return torch.stack((true, other), dim=1)


def by_columns(rows: Tensor) -> Tensor:
    """The same numbers ``(n, q)`` in column-major order, which is faster for few, long columns."""
    return rows.T.contiguous().T


def margins(task: Classification, condensed: Tensor, targets: Tensor) -> Tensor:
    """Margin of the true class over the best other one, ``(n,)``; minus infinity for NaN.

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
    """Share of each input in a regression metric, ``(n,)``."""
    if targets.shape[1] > KEEP:
        return condensed[:, 0]
    return condensed.square().mean(dim=1) if task.metric == "mse" else condensed.abs().mean(dim=1)


def close(task: Regression, condensed: Tensor, targets: Tensor) -> Tensor:
    """Whether every error is within the tolerance, ``(n,)``; with many outputs, whether the mean error is."""
    if targets.shape[1] > KEEP:
        return condensed[:, 0] <= (task.tolerance**2 if task.metric == "mse" else task.tolerance)
    return (condensed.abs() <= task.tolerance).all(dim=1)


def _true_and_other(values: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    true = values.gather(1, targets[:, None])[:, 0]
    return true, values.scatter(1, targets[:, None], -torch.inf).amax(dim=1)
