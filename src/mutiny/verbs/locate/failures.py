"""Which answers are failures: wrong by label, by a user's oracle, or other than another model's."""

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
"""From a batch of inputs and the model's outputs to one truth value per input: is this a failure?"""


class Failing(Protocol):
    """Tells failures, batch by batch."""

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """``(n,)`` bool for the inputs at the positions ``where``."""


@dataclass(frozen=True)
class ByLabel:
    """An answer fails if it is not correct.

    Args:
        task: what is correct.
        targets: of all inputs, as the task wants them.
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
    """An answer fails if a function says so."""

    oracle: Oracle

    def __call__(self, inputs: Any, outputs: Tensor, where: Where) -> Tensor:
        """As the oracle says."""
        del where
        said = truths(self.oracle(inputs, outputs), len(outputs), "oracle", "a failure")
        return torch.from_numpy(said).to(outputs.device)


@dataclass(frozen=True)
class ByModel:
    """An answer fails if another model gives another one: another class, or outputs more than the tolerance apart."""

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
                f"{tuple(outputs.shape)}, as the other",
            )
        return changed_answers(self.task, outputs, other)[0]


def truths(said: Any, rows: int, argument: str, meaning: str) -> npt.NDArray[np.bool_]:
    """What a user's function said, ``(rows,)``; an error if that is not one truth value per input.

    >>> truths([True, False], 2, "oracle", "a failure")
    array([ True, False])
    """
    found = said.numpy(force=True) if isinstance(said, Tensor) else np.array(said)
    if found.shape != (rows,) or found.dtype != np.bool_:
        raise BadInput(
            argument, f"{found.dtype} of shape {found.shape} for {rows} inputs",
            f"one True ({meaning}) or False per input",
        )  # fmt: skip
    return found


def groups_of(task: Task, targets: Tensor | None, outputs: Tensor, where: Where) -> Tensor:
    """The class of each input, ``(n,)``: the true one if it is known, otherwise the predicted one; 0 in regression."""
    if not isinstance(task, Classification):
        return torch.zeros(len(outputs), dtype=torch.long, device=outputs.device)
    if targets is not None:
        return targets[where].to(outputs.device)
    return task.probabilities(outputs).argmax(dim=1)
