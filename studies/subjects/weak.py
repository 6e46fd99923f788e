"""Subjects whose test sets are weak on purpose: the easiest test images of each class; the rest is the pool.

``mutiny strengthen studies/subjects/weak.py:mnist`` starts from them. Easy is what has a small loss for a network that
is none of the originals.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import mutiny

STRANGER = 1000
"""Seed of the network that says what is easy; that of originals is small."""


def weak(name: str, tests: int) -> mutiny.Subject:
    """A built-in subject that is tested by so many easy images only, as many of each class; data from MUTINY_DATA."""
    subject = mutiny.load_subject(name)
    (network,) = subject.originals(1, seed=STRANGER)
    labels = torch.as_tensor(subject.test.targets)
    with torch.inference_mode():
        logits = network(torch.as_tensor(subject.test.read(slice(0, len(labels))))).double()
    loss = nn.functional.cross_entropy(logits, labels, reduction="none")
    classes = [np.flatnonzero(subject.test.targets == label) for label in np.unique(subject.test.targets)]
    easy = [of[np.argsort(loss[of], kind="stable")[: tests // len(classes)]] for of in classes]
    test = np.sort(np.concatenate(easy))
    return mutiny.Subject(
        task=subject.task,
        train=subject.train,
        test=subject.test.subset(test),
        pool=subject.test.subset(np.setdiff1d(np.arange(len(labels)), test)),
        recipe=subject.recipe,
        name=f"weak-{name}",
    )


def digits() -> mutiny.Subject:
    """100 of 449 test images; 349 in the pool."""
    return weak("digits", 100)


def mnist() -> mutiny.Subject:
    """1,000 of 10,000 test images; 9,000 in the pool."""
    return weak("mnist", 1000)


def fashion() -> mutiny.Subject:
    """1,000 of 10,000 test images; 9,000 in the pool."""
    return weak("fashion-mnist", 1000)
