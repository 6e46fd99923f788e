"""Changes of a model's answers: which ones differ, and how far the outputs moved."""

from __future__ import annotations

from torch import Tensor

from mutiny.subjects.tasks import Classification, Task


def changed(task: Task, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Whether the answers differ, ``(n,)`` bool, and how far outputs moved, ``(n,)`` from 0 to 1; NaN counts as 1.

    For classification, an answer differs if the class does, and the distance is the total variation between the
    probabilities. For regression, an answer differs if some output moved by more than the tolerance, and the distance
    is ``d / (d + tolerance)`` with the largest move ``d``.

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
