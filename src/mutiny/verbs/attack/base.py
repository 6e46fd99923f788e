"""Base class of attacks, what it receives and returns, and the losses that attacks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from mutiny.core.parsing import described
from mutiny.verbs.attack.ensemble import Ensemble, Loss


class Batch(NamedTuple):
    """Inputs to attack.

    Attributes:
        inputs: Inputs within the range, ``(n, ...)``.
        labels: Correct answers, which the attack tries to change, ``(n,)``.
        first: Number of the first input in the data, so that random draws depend on the input, not on the batch.
        low: Smallest value of an input.
        high: Largest value of an input.
        seed: Seed of everything random.
    """

    inputs: Tensor
    labels: Tensor
    first: int
    low: float
    high: float
    seed: int


class Attacked(NamedTuple):
    """Result of an attack on a batch.

    Attributes:
        inputs: New inputs, ``(n, ...)``.
        passes: Number of forward and backward passes, each of one input through one member.
    """

    inputs: Tensor
    passes: int


@dataclass(frozen=True)
class Attack(ABC):
    """Changes inputs so that a model answers differently. Subclasses implement `attacked`."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    bounded: ClassVar[bool] = True
    """Whether the attack takes a largest distance; otherwise it searches for the nearest adversarial input."""

    @abstractmethod
    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Returns new inputs, within ``eps`` of the old ones and within the range.

        Args:
            ensemble: The model and its mutants.
            batch: Inputs to attack.
            eps: Largest distance; ``None`` if the attack is not bounded.
        """

    def times(self, budget: int) -> Self | None:
        """Returns the same attack with ``budget`` times as many passes, for a fair comparison with an ensemble.

        None for an attack that cannot use more passes; the result then does not say whether mutants help.
        """
        del budget
        return None

    def rising(self, labels: Tensor) -> Loss | None:
        """Returns the loss that the attack increases first; none for an attack without gradients."""
        return partial(cross_entropy, labels=labels)

    def __str__(self) -> str:
        return described(self, self.code)


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each input, ``(n,)``, from logits ``(n, classes)``.

    It is computed from the lead of the true class, so that its gradient does not vanish by rounding if the model is
    confident: the usual formula subtracts a number close to 1 from 1.

    >>> cross_entropy(torch.tensor([[0.0, 0.0], [0.0, 50.0]]), torch.tensor([0, 1]))
    tensor([6.9315e-01, 1.9287e-22])
    """
    true = outputs.gather(1, labels[:, None])[:, 0]
    others = outputs.scatter(1, labels[:, None], -torch.inf).logsumexp(dim=1)
    return torch.logaddexp(others - true, torch.zeros_like(true))


def margin(outputs: Tensor, labels: Tensor) -> Tensor:
    """Lead of the best other class over the true class, ``(n,)``; negative if the true class leads.

    >>> margin(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([0]))
    tensor([-1.])
    """
    true = outputs.gather(1, labels[:, None])[:, 0]
    return outputs.scatter(1, labels[:, None], -torch.inf).amax(dim=1) - true


def answers(outputs: Tensor) -> Tensor:
    """Predicted classes, ``(n,)``; -1 if an output is NaN."""
    return torch.where(outputs.isnan().any(dim=1), -1, outputs.argmax(dim=1))
