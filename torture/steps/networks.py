"""Subjects of the campaigns: small networks that count their forward passes as places."""

from __future__ import annotations

import math
import sys
from functools import cache

import torch
from torch import Tensor, nn

import mutiny
from mutiny.subjects.training import Recipe
from torture.steps import places  # noqa: F401, used by name

CLASSES = 3
PLACES = "torture.steps.places"
"""Module that counts forward passes."""


def blobs(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points around one center per class, on a circle."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    angle = 2 * math.pi * labels / CLASSES
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.9 * torch.randn(count, 2, generator=draw), labels


class Network(nn.Module):
    """Two layers; between them is a place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(2, 6), nn.Linear(6, CLASSES)

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores of the classes."""
        hidden = self.first(inputs).relu()
        sys.modules[PLACES].passed()  # not named otherwise, because its state would be part of this network's identity
        return self.last(hidden)


@cache
def _trained() -> Network:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Network()
    inputs, labels = blobs(300, 5)
    optimizer = torch.optim.Adam(network.parameters(), 0.05)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(inputs), labels).backward()
        optimizer.step()
    for parameter in network.parameters():
        parameter.grad = None
    return network.eval()


def _subject(**how: object) -> mutiny.Subject:
    task = mutiny.Classification(CLASSES)
    data = {"train": blobs(150, 0), "test": blobs(150, 1), "pool": blobs(60, 2)}
    return mutiny.Subject(task=task, name="blobs", **data, **how)


@cache
def ready() -> mutiny.Subject:
    """A trained network."""
    return _subject(models=_trained())


def trained() -> mutiny.Subject:
    """The same, which a recipe trains first."""
    return _subject(recipe=Recipe(Network, epochs=2, batch_size=75, learning_rate=0.05))
