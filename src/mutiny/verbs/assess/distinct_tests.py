"""Tests that count: copies of a test are no further evidence, because paired tests assume independent inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.subjects.data import Data


@dataclass(frozen=True, eq=False)
class DistinctTests:
    """The tests of a test set that are not copies of earlier ones: no earlier test has the same input and target.

    Attributes:
        positions: Their positions in the test set, ascending, ``(n,)``.
        size: Number of tests of the whole set.

    >>> from mutiny.subjects.data import as_data
    >>> tests = DistinctTests.of(as_data(([[1.0], [2.0], [1.0], [1.0]], [0, 1, 0, 1]), "test"))
    >>> tests.positions.tolist(), tests.copies
    ([0, 1, 3], 1)
    """

    positions: npt.NDArray[np.int64]
    size: int

    @classmethod
    def of(cls, test: Data) -> DistinctTests:
        """The distinct tests of a test set."""
        targets = np.ascontiguousarray(test.targets).reshape(len(test), -1)
        first = dict[tuple[bytes, bytes], int]()
        for position, (digest, target) in enumerate(zip(test.digests(), targets, strict=True)):
            first.setdefault((digest, target.tobytes()), position)
        return cls(np.array([*first.values()], np.int64), len(test))

    @property
    def copies(self) -> int:
        """Number of tests that are copies of earlier ones."""
        return self.size - len(self.positions)

    def part_of(self, test: Data) -> Data:
        """The distinct tests as data; the test set itself if it has no copies."""
        return test.subset(self.positions) if self.copies else test
