"""Who may be chosen and who judges, when a network is trained further: nobody does both, unless the paper says so."""

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
    """Two random halves of so many positions, each in order; of an odd number the second has one more.

    >>> [half.tolist() for half in halves(5, np.random.default_rng(0))]
    [[2, 4], [0, 1, 3]]
    """
    order = rng.permutation(size)
    return np.sort(order[: size // 2]), np.sort(order[size // 2 :])


def some_of(data: Data, count: int | None, rng: np.random.Generator) -> Data:
    """So many items at random, in the order of the data; all of them if there are no more.

    >>> from mutiny.subjects.data import as_data
    >>> len(some_of(as_data(([[1.0], [2.0], [3.0]], [0, 1, 0]), "train"), 2, np.random.default_rng(0)))
    2
    """
    if count is None or len(data) <= count:
        return data
    return data.subset(np.sort(rng.permutation(len(data))[:count]))


@dataclass(frozen=True)
class Roles:
    """Who is a candidate and who judges; a test set judges that is not part of the pool."""

    pool: Data
    test: Data | None
    split: bool
    pool_keys: Keys
    test_keys: Keys
    train_keys: Keys

    @classmethod
    def of(cls, pool: Data, subject: Subject, protocol: Protocol) -> Roles:
        """From a pool and a subject, whose test set judges if it is not all in the pool."""
        pool_keys, test_keys, train_keys = map(contents, (pool, subject.test, subject.train))
        inside = np.isin(test_keys[:, 0], pool_keys[:, 0]).all()
        return cls(pool, None if inside else subject.test, protocol == "split", pool_keys, test_keys, train_keys)

    def drawn(self, rng: np.random.Generator) -> tuple[Data, list[Data]]:
        """The candidates; inputs of the pool that judge, and inputs of the test set if there are any."""
        if not self.split:
            return self.pool, [self.pool, *([] if self.test is None else [self.test])]
        chosen, rest = halves(len(self.pool), rng)
        seen = np.union1d(self.train_keys, self.pool_keys[chosen])
        judges = rest[~np.isin(self.pool_keys[rest], seen).any(axis=1)]
        if not judges.size:
            raise BadInput(
                "pool", "a half whose inputs, or their originals, are all training inputs or candidates",
                "inputs that can judge", "Give a pool of inputs that the model was not trained on, each once.",
            )  # fmt: skip
        unseen = np.flatnonzero(~np.isin(self.test_keys, seen).any(axis=1))
        both = [self.pool.subset(judges)]
        if self.test is not None and unseen.size:
            both.append(self.test.subset(unseen))
        return self.pool.subset(chosen), both

    def notes(self, judges: int) -> Iterator[str]:
        """What a careful reader should know, if so many inputs of the pool judge."""
        if self.test is None:
            yield "All of the test set is in the pool, so it does not judge for itself."
        if not self.split:
            yield "Candidates judge too: what was learnt by heart counts as gain."
        elif lost := len(self.pool) - len(self.pool) // 2 - judges:
            yield f"{lost} inputs of the other half do not judge: training inputs or candidates are like them."
