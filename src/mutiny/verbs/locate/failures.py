"""Definitions of a failure: wrong by label, by a user's oracle, or different from another model's answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.models.layers import Indices
from mutiny.subjects.inference.passes import first_call
from mutiny.subjects.tasks import Classification, Task, changed_answers

Where = slice | Indices
"""Positions of inputs in the data."""
Oracle = Callable[[Any, Tensor], Any]
"""Function from a batch of inputs and the model's outputs to one bool per input: is this a failure?"""


class Failing(Protocol):
    """Identifies failures, batch by batch."""

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """Which of the inputs at the positions ``where`` fail, ``(n,)`` bool."""


@dataclass(frozen=True)
class ByLabel:
    """An answer fails if it is not correct.

    Args:
        task: Task that defines correct answers.
        targets: Targets of all inputs, in the form of the task.
    """

    task: Task
    targets: Tensor

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """Compared with the targets."""
        del inputs
        right, _ = self.task.judge(outputs, self.targets[where].to(outputs.device))
        return ~right


@dataclass(frozen=True)
class ByOracle:
    """An answer fails if the user's function returns true for it."""

    oracle: Oracle

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """Asks the oracle."""
        del where
        failed = truths(self.oracle(inputs, outputs), len(outputs), "oracle", "a failure")
        return torch.from_numpy(failed).to(outputs.device)


@dataclass(frozen=True)
class ByModel:
    """An answer fails if another model disagrees: in the class, or by more than the tolerance in regression."""

    task: Task
    model: nn.Module
    forward: Forward

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """Compared with the other model."""
        del where
        other = first_call(self.forward, self.model, inputs, "against")
        if other.shape != outputs.shape:
            raise BadInput(
                "against",
                f"a model with outputs of shape {tuple(other.shape)}",
                f"{tuple(outputs.shape)}, as the model under test has",
            )
        return changed_answers(self.task, outputs, other)[0]


def truths(returned: Any, rows: int, argument: str, meaning: str) -> npt.NDArray[np.bool_]:
    """Values that a user's function returned, ``(rows,)``; an error unless they are one bool per input.

    Args:
        returned: Tensor, array or sequence.
        rows: Number of inputs.
        argument: Name of the function, for the message.
        meaning: Meaning of true, for the message.

    >>> truths([True, False], 2, "oracle", "a failure")
    array([ True, False])
    """
    values = returned.numpy(force=True) if isinstance(returned, Tensor) else np.array(returned)
    if values.shape != (rows,) or values.dtype != np.bool_:
        form = f"{values.dtype} of shape {values.shape} for {rows} inputs"
        raise BadInput(argument, form, f"one True ({meaning}) or False per input")
    return values


def groups_of(task: Task, targets: Tensor | None, outputs: Tensor, where: Where) -> Tensor:
    """Class of each input, ``(n,)``: the true one if it is known, otherwise the predicted one; 0 in regression."""
    if not isinstance(task, Classification):
        return torch.zeros(len(outputs), dtype=torch.long, device=outputs.device)
    if targets is not None:
        return targets[where].to(outputs.device)
    return task.probabilities(outputs).argmax(dim=1)
