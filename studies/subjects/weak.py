"""Subjects whose test sets are weak on purpose: the easiest test images of each class; others are the pool.

``mutiny strengthen studies/subjects/weak.py:mnist`` starts from them. Easy is what has a small loss for a network that
is none of the originals.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import mutiny
from mutiny.core.random import generator_for
from mutiny.subjects.data import Data

STRANGER = 1000
"""Seed of the network that says what is easy; that of originals is small."""


def weak(name: str, tests: int, train: int | None = None, pool: int | None = None) -> mutiny.Subject:
    """A built-in subject that is tested by so many easy images only, as many of each class; data from MUTINY_DATA.

    Args:
        name: of the built-in subject.
        tests: how many images test it.
        train: how many train it, drawn once; all if not given.
        pool: how many of the other test images are in the pool, drawn once; all if not given.
    """
    whole = mutiny.load_subject(name)
    training = _some(whole.train, np.arange(len(whole.train)), train)
    common = {"task": whole.task, "train": training, "recipe": whole.recipe}
    (network,) = mutiny.Subject(**common, test=whole.test).originals(1, seed=STRANGER)
    easy = _easiest(network, whole.test, tests)
    others = np.setdiff1d(np.arange(len(whole.test)), easy)
    return mutiny.Subject(
        **common, test=whole.test.subset(easy), pool=_some(whole.test, others, pool), name=f"weak-{name}"
    )


def _easiest(network: nn.Module, data: Data, count: int) -> np.ndarray:
    """Indices of images with the smallest loss, as many of each class."""
    labels = np.asarray(data.targets)
    with torch.inference_mode():
        logits = network(torch.as_tensor(data.read(slice(0, len(data))))).double()
    loss = nn.functional.cross_entropy(logits, torch.as_tensor(labels), reduction="none").numpy()
    classes = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    easy = [of[np.argsort(loss[of], kind="stable")[: count // len(classes)]] for of in classes]
    return np.sort(np.concatenate(easy))


def _some(data: Data, among: np.ndarray, count: int | None) -> Data:
    """So many of these, drawn once, in their order."""
    if count is None:
        return data.subset(among)
    return data.subset(np.sort(generator_for(0, "weak").permutation(among)[:count]))


def digits() -> mutiny.Subject:
    """100 easy images of 449; the other 349 are the pool."""
    return weak("digits", 100)


def mnist() -> mutiny.Subject:
    """1,000 easy images of 10,000, 4,000 others in the pool, and 10,000 images to train on."""
    return weak("mnist", 1000, train=10_000, pool=4000)


def fashion() -> mutiny.Subject:
    """The same of Fashion-MNIST."""
    return weak("fashion-mnist", 1000, train=10_000, pool=4000)
