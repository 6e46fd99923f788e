"""Faults made by hand, a slow summary of them, and subjects of which the whole assessment takes little time."""

from itertools import pairwise

import numpy as np
import torch
from torch import nn

import mutiny
from mutiny.core.records import FaultRecord
from mutiny.verbs.assess.fault_search import FoundFault
from toys import blobs, line


def fault(cost=1.5, broken=0, repaired=0, *, noticed=None, **record):
    """A fault that breaks the first answers of the test set and repairs the next ones."""
    change = np.repeat([1.0, -1.0], [broken, repaired])
    noticed = broken > repaired if noticed is None else noticed
    return changing(cost, np.arange(broken + repaired), change, noticed=noticed, **record)


def changing(cost, positions, change, *, noticed=False, weight=None, tolerated=0.0, **record):
    """A fault that changes given answers of the test set."""
    fields = {"operator": "WI", "parameter": "ratio", "strength": 0.25, "original": 0, "seed": 0, "p_value": 0.5}
    fields = {"configuration": "WI(ratio=0.25)", **fields, **record}
    return FoundFault(
        FaultRecord(cost=float(cost), noticed=bool(noticed), **fields),
        np.asarray(positions, np.int32),
        np.asarray(change, np.float32),
        np.ones(len(positions), np.float32) if weight is None else np.asarray(weight, np.float32),
        evaluated=0,
        tolerated=tolerated,
    )


def rate_spelled_out(costs, noticed, edges):
    """The mean, over the bins that have faults, of the share that is noticed."""
    shares = []
    for low, high in pairwise(edges):
        inside = [hit for cost, hit in zip(costs, noticed, strict=True) if low <= cost < high]
        if inside:
            shares.append(sum(inside) / len(inside))
    return sum(shares) / len(shares) if shares else None


def separator(seed=0, dims=6, classes=3, bias=True):
    """A linear classifier that is near the best one for `points`, without any training."""
    draw = torch.Generator().manual_seed(1000 + seed)
    net = nn.Linear(dims, classes, bias=bias)
    with torch.no_grad():
        net.weight.copy_(axes(classes, dims) + 0.1 * torch.randn(classes, dims, generator=draw))
        if bias:
            net.bias.zero_()
    return net.eval()


def axes(classes, dims):
    """A direction for each class."""
    return torch.eye(dims)[:classes] - 0.1


def points(n, seed=0, classes=3, dims=6, spread=0.32):
    """Points around as many centers as there are classes."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.arange(n) % classes
    return axes(classes, dims)[y] + spread * torch.randn(n, dims, generator=draw), y


def subject(originals=3, test=300, reference=600, **more):
    """Linear classifiers with a validation set and no training set."""
    parts = {
        "models": [separator(seed) for seed in range(originals)],
        "task": mutiny.Classification(3),
        "test": points(test, seed=1) if isinstance(test, int) else test,
        "validation": points(reference, seed=2),
        "name": "points",
    }
    return mutiny.Subject(**{**parts, **more})


def regression(originals=3, test=150, reference=300, **more):
    """Linear networks that predict a number, with a validation set and no training set."""
    nets = []
    for seed in range(originals):
        net, draw = nn.Linear(3, 1), torch.Generator().manual_seed(seed)
        with torch.no_grad():
            net.weight.copy_(torch.tensor([[2.0, -1.0, 0.0]]) + 0.02 * torch.randn(1, 3, generator=draw))
            net.bias.fill_(3.15)
        nets.append(net.eval())
    parts = {
        "models": nets,
        "task": mutiny.Regression(tolerance=0.3),
        "test": line(test, seed=1) if isinstance(test, int) else test,
        "validation": line(reference, seed=2),
        "name": "line",
    }
    return mutiny.Subject(**{**parts, **more})


__all__ = ["blobs", "changing", "fault", "line", "points", "rate_spelled_out", "regression", "separator", "subject"]
