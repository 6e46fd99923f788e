"""Did an answer change, and how far?"""

from __future__ import annotations

from torch import Tensor

from mutiny.subjects.tasks import Classification, Task


def changed(task: Task, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Whether the answers differ, ``(n,)`` bool, and how far outputs moved, ``(n,)`` from 0 to 1. NaN is all the way.

    Classification: another class; total variation between the probabilities. Regression: some output moved by more
    than the tolerance; the largest move ``d`` as ``d / (d + tolerance)``.

    >>> import torch
    >>> changed(Classification(2, "probabilities"), torch.tensor([[0.75, 0.25]]), torch.tensor([[0.25, 0.75]]))
    (tensor([True]), tensor([0.5000], dtype=torch.float64))
    """
    if isinstance(task, Classification):
        old, new = task.probabilities(before).double(), task.probabilities(after).double()
        moved = (old - new).abs().sum(dim=1) / 2
        killed = (old.argmax(dim=1) != new.argmax(dim=1)) | moved.isnan()
    else:
        move = (after.double() - before.double()).reshape(len(before), -1).abs().amax(dim=1)
        killed, moved = ~(move <= task.tolerance), move / (move + task.tolerance)
    return killed, moved.nan_to_num(nan=1.0).clamp(max=1)
