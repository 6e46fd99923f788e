"""Tiny data and tiny trained networks, made from seeds without touching the global one."""

from __future__ import annotations

import copy
import math
from functools import cache

import torch
from torch import nn

import mutiny


def blobs(n: int = 240, classes: int = 3, seed: int = 0, spread: float = 0.75) -> tuple[torch.Tensor, torch.Tensor]:
    """Points around as many centers on a circle as there are classes."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    angle = 2 * math.pi * y / classes
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + spread * torch.randn(n, 2, generator=draw), y


def line(n: int = 200, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """A smooth function of three numbers, for regression."""
    x = torch.rand(n, 3, generator=torch.Generator().manual_seed(seed)) * 2 - 1
    return x, (2 * x[:, :1] - x[:, 1:2] + 0.5 * x[:, 2:] ** 2 + 3)


def trained(model: nn.Module, loss, x, y, steps: int = 80, rate: float = 0.05) -> nn.Module:
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    model.zero_grad()
    return model.eval()


@cache
def _classifier(seed: int, classes: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, classes))
        return trained(model, nn.functional.cross_entropy, *blobs(classes=classes))


@cache
def _regressor(seed: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1))
        return trained(model, nn.functional.mse_loss, *line(), steps=150)


def classifier(seed: int = 0, classes: int = 3) -> nn.Module:
    return copy.deepcopy(_classifier(seed, classes))


def regressor(seed: int = 0) -> nn.Module:
    return copy.deepcopy(_regressor(seed))


def blob_subject(originals: int = 3, classes: int = 3, **more) -> mutiny.Subject:
    return mutiny.Subject(
        **{
            "models": [classifier(seed, classes) for seed in range(originals)],
            "task": mutiny.Classification(classes),
            "train": blobs(classes=classes),
            "test": blobs(120, classes, seed=1),
            **more,
        }
    )


def line_subject(originals: int = 3, metric: str = "mse", **more) -> mutiny.Subject:
    return mutiny.Subject(
        **{
            "models": [regressor(seed) for seed in range(originals)],
            "task": mutiny.Regression(tolerance=0.3, metric=metric),
            "train": line(),
            "test": line(80, seed=1),
            **more,
        }
    )
