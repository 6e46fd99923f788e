"""Kill tables made by hand, and a weak test set with a pool beside it."""

from functools import cache

import numpy as np
import torch

import mutiny
import toys
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.strengthen.kill_table import KillTable, MutantRow

COARSE = Search(precision=0.03)
"""Few probes."""


def table_of(right, mutants, labels=None, rule=None, search=None):
    """A table of a classifier; each mutant is an array ``(repetitions, originals, n)``."""
    right = np.asarray(right, bool)
    names = labels or ["WI"] * len(mutants)
    rows = tuple(
        MutantRow(name, float(number), np.asarray(mutant, bool))
        for number, (name, mutant) in enumerate(zip(names, mutants, strict=True))
    )
    return KillTable(right, None, rows, (rule or KillRule()).resolve(len(right)), search or Search(rse=10.0), True)


def random_table(rng, originals=4, inputs=8, mutants=3, rounds=2, weak=0.4):
    right = rng.random((originals, inputs)) < 0.9
    fails = rng.random((mutants, rounds, originals, inputs)) < weak * rng.random((mutants, 1, 1, inputs))
    return table_of(right, right & ~fails, ["WI", "NI", "GF", "WS"][:mutants])


@cache
def weak_parts():
    """The most certain 60 of 300 points, and 200 others."""
    x, y = toys.blobs(300, seed=5)
    net = toys.classifier(0)
    with torch.no_grad():
        sure = net(x).softmax(1).amax(1)
    easy = sure.argsort(descending=True)[:60]
    return (x[easy], y[easy]), toys.blobs(200, seed=1)


def weak_subject(originals=3, **more):
    test, pool = weak_parts()
    return toys.blob_subject(originals, **{"test": test, "pool": pool, "name": "weak", **more})


@cache
def assessed(originals=3, operators="WI(ratio=0.3),NEB"):
    return mutiny.assess(weak_subject(originals), operators, search=COARSE, batch_size=64)


def strengthen(originals=3, subject=None, **more):
    """Few mutants and repeats, from an assessment that all tests share."""
    settings = {"budget": (5, 20), "mutants": 3, "repeats": 2, "assessment": assessed(originals), **more}
    return mutiny.strengthen(subject or weak_subject(originals), **settings)
