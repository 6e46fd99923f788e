"""What an attack is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import torch
from torch import Tensor

from mutiny.attacks.ensemble import Ensemble
from mutiny.parsing import described


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

    @abstractmethod
    def times(self, budget: int) -> Self:
        """The same attack with so many times the passes: what the original alone deserves in a fair comparison."""

    def __str__(self) -> str:
        return described(self, self.code)


def answers(outputs: Tensor) -> Tensor:
    """The class that is said, ``(n,)``; numbers that are none count as no class."""
    found = outputs.argmax(dim=1)
    return torch.where(outputs.isnan().any(dim=1), -1, found)
