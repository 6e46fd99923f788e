"""Determines from real outputs whether models return logits or probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.models.capture import rows_of
from mutiny.models.forward import steady
from mutiny.models.placement import placement
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import check_rows, first_call
from mutiny.subjects.tasks import Task

INPUTS, BATCH = 512, 256
"""Number of inputs, spread over the data, whose outputs are inspected, and the batch size."""


def settle(
    task: Task, models: Sequence[nn.Module], data: Data, forward: Forward, batch_size: int | None = None
) -> Task:
    """The task with its kind of outputs resolved; all models are inspected, so that contradictions show early."""
    some = data.subset(np.unique(np.linspace(0, len(data) - 1, INPUTS).astype(np.int64)))
    settled: list[Task] = []
    for index, model in enumerate(models):
        put = placement(model).put
        outputs = []
        with steady(), torch.inference_mode():
            for inputs in some.batches(batch_size or BATCH):
                outputs.append(first_call(forward, model, put(inputs), f"models[{index}]"))
                check_rows(outputs[-1], rows_of(inputs))
        settled.append(task.resolve(torch.cat(outputs)))
        if settled[index] != settled[0]:
            fix = "Set outputs=... in the task if they return the same thing."
            raise BadInput(f"models[{index}]", f"outputs that fit {settled[index]}", f"{settled[0]}, as models[0]", fix)
    return settled[0]
