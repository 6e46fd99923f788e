"""Loss and credit of answers; credit is graded for wrong answers too, so that a search can follow it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.subjects.tasks import Classification, Task


def losses(task: Task, outputs: Tensor, targets: Tensor) -> Tensor:
    """Loss of each answer, ``(n,)``: cross-entropy, or the loss of the task for regression.

    >>> losses(Classification(2, "probabilities"), torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    tensor([0.6931])
    """
    if not isinstance(task, Classification):
        return task.judge(outputs, targets)[1]
    if task.outputs == "logits" and outputs.ndim == 2 and outputs.shape[1] > 1:
        return torch.nn.functional.cross_entropy(outputs, targets, reduction="none")
    chosen = task.probabilities(outputs).gather(1, targets[:, None])[:, 0]
    return -chosen.clamp_min(1e-12).log()


def check_gradients(outputs: Tensor, model: nn.Module, method: str) -> None:
    """Raises an error if outputs have no gradient by the weights."""
    if not outputs.requires_grad:
        expected = f"outputs with gradients by the weights that may change, which {method} needs"
        fix = (
            "Remove no_grad, argmax or thresholds from its forward pass, or use method scale, which needs no gradients."
        )
        raise BadInput("model", type(model).__name__, expected, fix)


def credits(task: Task, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Correctness and credit of the answers of several models, both ``(models, n)``.

    The credit is 1 for a right answer and ``1 / (1 + loss)`` for a wrong one (Arachne); 0 where the loss is not finite.

    Args:
        task: Task that defines right answers.
        outputs: Outputs, ``(models, n, ...)``.
        targets: Targets, ``(n,)`` or ``(n, k)``.
    """
    models, count = outputs.shape[:2]
    flat = outputs.flatten(0, 1)
    wanted = targets.repeat(models, *[1] * (targets.ndim - 1))
    right, _ = task.judge(flat, wanted)
    partial = (1 / (1 + losses(task, flat, wanted))).double().nan_to_num(nan=0.0, posinf=0.0)
    credit = torch.where(right, 1.0, partial)
    return right.reshape(models, count), credit.reshape(models, count)
