"""Inputs to choose from and inputs to evaluate on in retraining; disjoint, except in the paper's protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.subjects import Subject
from mutiny.subjects.data import Data
from mutiny.subjects.data.joined import Keys, contents
from mutiny.verbs.select.base import Order

Protocol = Literal["split", "paper"]


def halves(size: int, rng: np.random.Generator) -> tuple[Order, Order]:
    """Two random halves of ``size`` positions, each sorted; the second has one more if ``size`` is odd.

    >>> [half.tolist() for half in halves(5, np.random.default_rng(0))]
    [[2, 4], [0, 1, 3]]
    """
    order = rng.permutation(size)
    return np.sort(order[: size // 2]), np.sort(order[size // 2 :])


def some_of(data: Data, count: int | None, rng: np.random.Generator) -> Data:
    """``count`` random items in the order of the data; all items if there are no more.

    >>> from mutiny.subjects.data import as_data
    >>> len(some_of(as_data(([[1.0], [2.0], [3.0]], [0, 1, 0]), "train"), 2, np.random.default_rng(0)))
    2
    """
    if count is None or len(data) <= count:
        return data
    return data.subset(np.sort(rng.permutation(len(data))[:count]))


@dataclass(frozen=True)
class Roles:
    """Pool and test set with hashes of their inputs, from which each repeat draws candidates and evaluation sets.

    Attributes:
        pool: All labeled inputs of the pool.
        test: Test set; ``None`` if all of it is in the pool.
        split: Whether candidates and evaluation sets are disjoint.
        pool_keys: Hash of each pool input and of its original.
        test_keys: The same for the test set.
        train_keys: The same for the training data.
    """

    pool: Data
    test: Data | None
    split: bool
    pool_keys: Keys
    test_keys: Keys
    train_keys: Keys

    @classmethod
    def of(cls, pool: Data, subject: Subject, protocol: Protocol) -> Roles:
        """Roles for a pool and the subject's test set and training data."""
        pool_keys, test_keys, train_keys = map(contents, (pool, subject.test, subject.training.data))
        inside = np.isin(test_keys[:, 0], pool_keys[:, 0]).all()
        return cls(pool, None if inside else subject.test, protocol == "split", pool_keys, test_keys, train_keys)

    def drawn(self, rng: np.random.Generator) -> tuple[Data, list[Data]]:
        """The candidates, and the evaluation sets: inputs of the pool and, if there are any, of the test set."""
        if not self.split:
            return self.pool, [self.pool, *([] if self.test is None else [self.test])]
        chosen, rest = halves(len(self.pool), rng)
        seen = np.union1d(self.train_keys, self.pool_keys[chosen])
        judges = rest[~np.isin(self.pool_keys[rest], seen).any(axis=1)]
        if not judges.size:
            raise BadInput(
                "pool",
                "a half whose inputs, or their originals, are all training inputs or candidates",
                "inputs that can be used for evaluation",
                "Give a pool of inputs that the model was not trained on, each once.",
            )
        unseen = np.flatnonzero(~np.isin(self.test_keys, seen).any(axis=1))
        evaluation = [self.pool.subset(judges)]
        if self.test is not None and unseen.size:
            evaluation.append(self.test.subset(unseen))
        return self.pool.subset(chosen), evaluation

    def notes(self, judges: int) -> Iterator[str]:
        """Caveats, if ``judges`` inputs of the pool are used for evaluation."""
        if self.test is None:
            yield "All of the test set is in the pool, so there is no separate evaluation on it."
        if not self.split:
            yield "Candidates are also used for evaluation, so memorized inputs count as gain."
        elif lost := len(self.pool) - len(self.pool) // 2 - judges:
            yield (
                f"{lost} inputs of the other half are not used for evaluation, because they or their originals equal "
                f"training inputs or candidates."
            )
