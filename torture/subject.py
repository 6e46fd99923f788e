"""Subjects of the cases: small networks that a recipe trains, with sets large enough to be screened."""

from __future__ import annotations

import math
import os
import signal
import sys

import torch
from torch import Tensor, nn

import mutiny
from mutiny.subjects.training import Recipe

CLASSES = 4


def blobs(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Points around one center per class, on a circle."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % CLASSES
    angle = 2 * math.pi * labels / CLASSES
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.9 * torch.randn(count, 2, generator=draw), labels


def network() -> nn.Module:
    """Two small layers."""
    return nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def deadly(model: nn.Module, inputs: Tensor) -> Tensor:
    """Forward function that kills the worker process in which a network is trained."""
    if model.training and "mutiny.campaigns.engines.worker_main" in sys.orig_argv:
        os.kill(os.getpid(), signal.SIGKILL)
    return model(inputs)


def _made(**more: object) -> mutiny.Subject:
    recipe = Recipe(network, epochs=5, batch_size=64, learning_rate=0.01)
    data = {"train": blobs(3000, 0), "test": blobs(2500, 1)}
    return mutiny.Subject(recipe=recipe, task=mutiny.Classification(CLASSES), name="blobs", **data, **more)


def spoilt() -> mutiny.Subject:
    """A network that compares directions, with a few wrong weights for the first class, to be repaired."""
    units, centers = (2 * math.pi * torch.arange(count) / count for count in (32, CLASSES))
    model = network().eval()
    first, last = model[0], model[2]
    with torch.no_grad():
        first.weight.copy_(torch.stack([units.cos(), units.sin()], 1))
        last.weight.copy_((units - centers[:, None]).cos())
        last.weight[0, [31, 0, 1]] = -1.0
        for layer in (first, last):
            layer.bias.zero_()
    data = {"train": blobs(3000, 0), "test": blobs(2500, 1)}
    return mutiny.Subject(model, task=mutiny.Classification(CLASSES), name="spoilt", **data)


def subject() -> mutiny.Subject:
    """The subject of most cases."""
    return _made()


def pooled() -> mutiny.Subject:
    """The same with a pool."""
    return _made(pool=blobs(800, 2))


def fatal() -> mutiny.Subject:
    """The same, but each training kills its worker."""
    return _made(forward=deadly)
