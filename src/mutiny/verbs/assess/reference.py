"""The reference set: inputs that are independent of the test set, on which the cost of faults is measured."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.subjects.data import Data
from mutiny.subjects.data.base import CHUNK
from mutiny.subjects.data.labels import matched, unknown
from mutiny.subjects.data.nested import leaves
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training.own import OwnTraining

FOLDS = 5
"""Number of folds of the training set, one of which each original of a recipe is trained without."""
FEWEST_HELD_OUT = 250
"""Smallest useful fold; on smaller ones, the noise of costs would move the notice rate by more than three points."""
PRECISE = 2000
"""Costs measured on this many inputs are precise; with fewer, they are measured on training inputs, too."""
MOST_UNLABELED, MOST_TRAINED = 3000, 5000
"""Inputs of an unlabeled pool, or training inputs beside others, that are used at most; more would take time and hardly
change the rate."""
KINDS = {
    "validation": "validation inputs",
    "pool": "labeled inputs of the pool",
    "folds": "training inputs that each original was not trained on",
    "unlabeled": "unlabeled inputs of the pool, by expectation",
    "train": "training inputs",
}
"""Kinds of reference sets, best first, in words."""


@dataclass(frozen=True)
class Reference:
    """Inputs on which the cost of faults is measured.

    Attributes:
        kind: One of `KINDS`.
        sets: Inputs by the name of their split. There is one set for all originals, or one for each fold, or, for
            an unlabeled pool, one for each original, because the other originals predict its labels.
        trained: Training inputs by the name of their split, as many sets; empty if the reference set is large. If it is
            small, costs are measured on them, too: with less noise, and scaled to costs on the reference set.
    """

    kind: str
    sets: dict[str, Data]
    trained: dict[str, Data] = field(default_factory=dict)

    def split(self, original: int) -> str:
        """Name of the split for an original."""
        names = [*self.sets]
        return names[original % len(names)]

    def trained_split(self, original: int) -> str | None:
        """Name of the split with the training inputs of an original on which costs are measured, or ``None``."""
        names = [*self.trained]
        return names[original % len(names)] if names else None

    def splits(self, original: int) -> list[str]:
        """Names of all splits on which the faults of an original are measured."""
        return [name for name in (self.split(original), self.trained_split(original)) if name is not None]

    @property
    def inputs(self) -> int:
        """Number of inputs for each original, at least."""
        return min(len(data) for data in self.sets.values())

    @property
    def inputs_per_fault(self) -> int:
        """Number of inputs on which each fault is measured."""
        return self.inputs + min(map(len, self.trained.values()), default=0)


def with_folds(subject: Subject) -> Subject:
    """The subject, which holds out folds for its originals if there is no better reference set, and if they suffice."""
    if subject.models or subject.recipe is None or subject.train is None or _labeled(subject) is not None:
        return subject
    if isinstance(subject.recipe, OwnTraining) and "data" not in subject.recipe.obeys:
        return subject  # it trains on data of its own, whatever is held out
    return subject.holding_out(FOLDS) if len(subject.train) >= FOLDS * FEWEST_HELD_OUT else subject


def reference_of(subject: Subject, originals: int) -> Reference | None:
    """The best reference set of a subject; ``None`` if it has none.

    Args:
        subject: Subject, from `with_folds`.
        originals: Number of originals.
    """
    labeled = _labeled(subject)
    if labeled is not None:
        if subject.train is None or len(subject.train) <= labeled.inputs or not _small(labeled.sets):
            return labeled
        return replace(labeled, trained={"train": some(subject.train, MOST_TRAINED)})
    if subject.folds is not None:
        folds = range(min(originals, subject.folds))
        sets = {f"fold {fold + 1}": subject.training.held_out(fold) for fold in folds}
        if not _small(sets):
            return Reference("folds", sets)
        trained = {f"all but fold {fold + 1}": some(subject.training.of(fold), MOST_TRAINED) for fold in folds}
        return Reference("folds", sets, trained)
    unlabeled = _unlabeled(subject)
    if unlabeled is not None:
        return Reference("unlabeled", {f"pool for original {number + 1}": unlabeled for number in range(originals)})
    return None if subject.train is None else Reference("train", {"train": subject.train})


def _small(sets: dict[str, Data]) -> bool:
    return min(map(len, sets.values())) < PRECISE


def _labeled(subject: Subject) -> Reference | None:
    """The validation set, or the pool if all its labels are known."""
    if subject.validation is not None:
        return Reference("validation", {"validation": subject.validation})
    if subject.pool is None:
        return None
    pool = matched(subject.pool, subject.train, subject.task)
    if unknown(pool.targets, subject.task):
        return None
    return Reference("pool", {"pool": pool})


def _unlabeled(subject: Subject) -> Data | None:
    """A part of the pool, whose labels are unknown, if it is large enough."""
    pool = subject.pool
    if pool is None or not isinstance(subject.task, Classification) or len(pool) < FEWEST_HELD_OUT:
        return None
    return some(pool, MOST_UNLABELED)


def check_independent(reference: Reference, test: Data, pool: Data | None = None, train: Data | None = None) -> None:
    """Raises `BadInput` if inputs on which costs are measured are those of the test set, in any order.

    Args:
        reference: Reference set.
        test: Test set.
        pool: The whole pool, of which an unlabeled reference set is a part.
        train: The whole training set, of which the training inputs are a part on which costs are measured.
    """
    unlabeled = reference.kind == "unlabeled"
    whole = {"train": train} if reference.trained and train is not None else reference.trained
    compared = {"pool": pool} if unlabeled and pool is not None else {**reference.sets, **whole}
    for name, data in compared.items():
        if (_same_inputs if unlabeled else _same_items)(data, test):
            raise BadInput(
                name,
                "the same inputs as the test set",
                "other inputs than those of the test set",
                "The cost of faults cannot be measured on the test set that should notice them.",
            )


def _same_items(first: Data, second: Data) -> bool:
    if len(first) != len(second) or first.targets.shape != second.targets.shape:
        return False
    if first.fingerprint() == second.fingerprint():
        return True
    if not np.array_equal(np.sort(first.targets, axis=0), np.sort(second.targets, axis=0)):
        return False
    return _same_inputs(first, second)


def _same_inputs(first: Data, second: Data) -> bool:
    return len(first) == len(second) and Counter(_digests(first)) == Counter(_digests(second))


def _digests(data: Data) -> Iterator[bytes]:
    """A hash of each input."""
    for batch in data.batches(CHUNK):
        parts = [tensor.contiguous().flatten(1).view(torch.uint8).numpy() for tensor in _columns(batch)]
        for row in zip(*parts, strict=True):
            yield hashlib.blake2b(b"".join(part.tobytes() for part in row), digest_size=16).digest()


def _columns(batch: Any) -> list[torch.Tensor]:
    """The tensors of a batch, each with at least two dimensions."""
    return [tensor[:, None] if tensor.ndim == 1 else tensor for _, tensor in leaves(batch)]


def some(data: Data, most: int) -> Data:
    """At most ``most`` inputs, evenly spaced."""
    return data if len(data) <= most else data.subset(spread(len(data), most))


def spread(size: int, most: int) -> np.ndarray:
    """Positions of at most ``most`` inputs, evenly spaced."""
    return np.unique(np.linspace(0, size - 1, min(size, most)).astype(np.int64))
