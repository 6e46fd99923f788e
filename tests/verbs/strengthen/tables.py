"""Fault tables made by hand, and a weak test set with a pool beside it."""

from functools import cache

import numpy as np
import torch

import mutiny
import toys
from mutiny.core.records import FaultRecord
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.strengthen.fault_table import FaultTable

OPERATORS = "GF,NEB"
SPREAD = 0.9
"""Of the points around each center; the networks were trained on points that are less spread out."""


def record_of(cost, original=0, seed=0, noticed=False):
    return FaultRecord("WI", "WI(share=0.5)", "share", 0.5, original, seed, float(cost), noticed, 1.0)


def table_of(changes, costs=None, originals=None, task=None, alpha=0.05, metric=1.0):
    """A table from dense changes ``(faults, inputs)``."""
    changes = np.asarray(changes, np.float32)
    costs = [1.5] * len(changes) if costs is None else costs
    fault, position = np.nonzero(changes)
    records = tuple(record_of(cost, 0 if originals is None else originals[at], at) for at, cost in enumerate(costs))
    unit = unit_of(task or mutiny.Classification(3))
    metrics = np.full(len(changes), metric)
    return FaultTable(records, fault, position, changes[fault, position], changes.shape[1], unit, alpha, metrics)


def random_changes(rng, faults=6, inputs=40, broken=0.3, repaired=0.05):
    """Inputs that the original gets right may break, the others may be repaired."""
    right = rng.random(inputs) < 0.85
    hit = rng.random((faults, inputs)) < np.where(right, broken, 3 * repaired) * rng.random((faults, 1))
    return hit * np.where(right, 1, -1)


@cache
def weak_parts():
    """The most certain 60 of 300 points, and 400 others."""
    x, y = toys.blobs(300, seed=5, spread=SPREAD)
    net = toys.classifier(0)
    with torch.no_grad():
        sure = net(x).softmax(1).amax(1)
    easy = sure.argsort(descending=True)[:60]
    return (x[easy], y[easy]), toys.blobs(400, seed=1, spread=SPREAD)


def weak_subject(originals=3, **more):
    test, pool = weak_parts()
    parts = {"test": test, "pool": pool, "validation": toys.blobs(400, seed=9, spread=SPREAD), "name": "weak"}
    return toys.blob_subject(originals, **{**parts, **more})


@cache
def assessed(originals=3, operators=OPERATORS, seeds=4):
    return mutiny.assess(weak_subject(originals), operators, seeds=seeds, batch_size=64)


def strengthen(originals=3, subject=None, **more):
    """From an assessment that all tests share."""
    settings = {"budget": (5, 20), "assessment": assessed(originals), "synthesize": 0, **more}
    return mutiny.strengthen(subject or weak_subject(originals), **settings)
