"""What an attack is."""

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
    """Inputs under attack.

    Attributes:
        inputs: within the range, ``(n, ...)``.
        labels: answers that should be lost, ``(n,)``.
        first: number of the first input in the data, so that randomness belongs to inputs.
        low: least value of an input's numbers.
        high: largest value.
        seed: of everything random.
    """

    inputs: Tensor
    labels: Tensor
    first: int
    low: float
    high: float
    seed: int


class Attacked(NamedTuple):
    """What became of a batch: the new inputs, and forward and backward passes, one input and member each."""

    inputs: Tensor
    passes: int


@dataclass(frozen=True)
class Attack(ABC):
    """Changes inputs so that a model gives other answers."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    bounded: ClassVar[bool] = True
    """Whether it takes a distance; if not, it looks for the nearest."""

    @abstractmethod
    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """New inputs, within ``eps`` of the old ones and within the range."""

    def times(self, budget: int) -> Self | None:
        """The same attack, which may take so many times the passes: what the original alone deserves.

        None for an attack that cannot make use of more passes; then nothing is said about whether mutants help.
        """
        del budget
        return None

    def rising(self, labels: Tensor) -> Loss | None:
        """What it raises, at first, for these labels; none for an attack that takes no gradients."""
        return partial(cross_entropy, labels=labels)

    def __str__(self) -> str:
        return described(self, self.code)


def cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Of each input, ``(n,)``, from logits ``(n, classes)``.

    It is taken from how far the true class leads, so that its gradient is not lost in rounding where the model is sure:
    the usual formula subtracts a number very near to 1 from 1.

    >>> cross_entropy(torch.tensor([[0.0, 0.0], [0.0, 50.0]]), torch.tensor([0, 1]))
    tensor([6.9315e-01, 1.9287e-22])
    """
    true = outputs.gather(1, labels[:, None])[:, 0]
    others = outputs.scatter(1, labels[:, None], -torch.inf).logsumexp(dim=1)
    return torch.logaddexp(others - true, torch.zeros_like(true))


def margin(outputs: Tensor, labels: Tensor) -> Tensor:
    """By how much another class leads before the true one, ``(n,)``; below 0 where none does.

    >>> margin(torch.tensor([[3.0, 1.0, 2.0]]), torch.tensor([0]))
    tensor([-1.])
    """
    true = outputs.gather(1, labels[:, None])[:, 0]
    return outputs.scatter(1, labels[:, None], -torch.inf).amax(dim=1) - true


def answers(outputs: Tensor) -> Tensor:
    """The class that is said, ``(n,)``; numbers that are none count as no class."""
    found = outputs.argmax(dim=1)
    return torch.where(outputs.isnan().any(dim=1), -1, found)
