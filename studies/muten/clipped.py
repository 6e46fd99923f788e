"""PGD that follows a loss of clipped probabilities, and networks that are sure enough to silence it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from torch import Tensor, nn

from mutiny.verbs.attack.ensemble import Loss
from mutiny.verbs.attack.pgd import Pgd

CLIP = 1e-7
"""Keras keeps probabilities this far from 0 and 1 before it takes the logarithm."""


def clipped_cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Of each input, ``(n,)``, by way of probabilities in single precision; flat where the network is sure.

    >>> import torch
    >>> logits = torch.tensor([[0.0, 2.0], [0.0, 50.0]], requires_grad=True)
    >>> clipped_cross_entropy(logits, torch.tensor([1, 1])).sum().backward()
    >>> logits.grad
    tensor([[ 0.1192, -0.1192],
            [ 0.0000,  0.0000]])
    """
    sure = outputs.float().softmax(dim=1).clamp(CLIP, 1 - CLIP)
    return -sure.gather(1, labels[:, None])[:, 0].log()


@dataclass(frozen=True)
class ClippedPgd(Pgd):
    """PGD on the clipped loss."""

    code: ClassVar[str] = "pgd on clipped probabilities"

    def rising(self, labels: Tensor, attempt: int = 0) -> Loss:
        """The same in every attempt."""
        del attempt
        return partial(clipped_cross_entropy, labels=labels)


class Surer(nn.Module):
    """A network whose outputs are multiplied: the same answers, with more confidence.

    Args:
        network: with logits.
        factor: by which they grow.
    """

    def __init__(self, network: nn.Module, factor: float) -> None:
        super().__init__()
        self.network, self.factor = network, factor
        self.eval()

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits, ``(n, classes)``."""
        return self.factor * self.network(inputs)
