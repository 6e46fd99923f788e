"""A tiny network and its data, for the corpus and for command lines."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

import mutiny

CLASSES = 3
PASSES = 400
"""Forward passes after which a command has shown enough; its options may ask for hours of work."""


def blobs(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points around one center per class, on a circle."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    angle = 2 * math.pi * labels / CLASSES
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + torch.randn(count, 2, generator=draw), labels


def network() -> nn.Module:
    """Two small layers that compare directions with the centers of the classes."""
    units, centers = (2 * math.pi * torch.arange(count) / count for count in (12, CLASSES))
    model = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, CLASSES)).eval()
    with torch.no_grad():
        model[0].weight.copy_(torch.stack([units.cos(), units.sin()], 1))
        model[2].weight.copy_((units - centers[:, None]).cos())
        model[0].bias.zero_()
        model[2].bias.zero_()
    return model


def subject() -> mutiny.Subject:
    """The subject of the corpus."""
    data = {"train": blobs(240, 0), "test": blobs(90, 1), "pool": blobs(60, 2)}
    return mutiny.Subject(network(), task=mutiny.Classification(CLASSES), name="blobs", **data)


def limited() -> mutiny.Subject:
    """The same, but its network refuses to work for long."""
    left = [PASSES]

    def forward(model: nn.Module, inputs: Tensor) -> Tensor:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("enough passes")
        return model(inputs)

    data = {"train": blobs(240, 0), "test": blobs(90, 1), "pool": blobs(60, 2)}
    task = mutiny.Classification(CLASSES)
    return mutiny.Subject(network(), task=task, name="limited", forward=forward, **data)
