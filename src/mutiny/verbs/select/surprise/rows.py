"""Some rows and columns of a matrix that may be too large to hold, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.traces import Traces

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK_ROWS = 1024
"""Rows of a block: what is computed for each pair of two blocks still fits a processor's cache."""
BLOCK_NUMBERS = 2**21
"""Numbers of a block, where rows are long."""


@dataclass(frozen=True)
class Rows:
    """Rows of ``source`` at ``indices``; iterating gives them in blocks ``(m, d)`` of double precision, any time again.

    Args:
        source: an array or traces, ``(n, all columns)``.
        indices: which rows, in which order; all if not given.
        columns: which columns; all if not given.

    >>> rows = Rows(np.eye(3), np.array([2, 0]))
    >>> rows.shape, rows.held().tolist()
    ((2, 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    source: Traces | Floats
    indices: Ints | None = None
    columns: Ints | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, d = self.source.shape
        return n if self.indices is None else len(self.indices), d if self.columns is None else len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Floats]:
        return self.blocks(BLOCK_ROWS)

    def blocks(self, most: int, numbers: int = BLOCK_NUMBERS) -> Iterator[Floats]:
        """All rows, at most so many at a time, and no more numbers at a time where rows are long."""
        n, d = self.shape
        step = max(1, min(most, numbers // max(1, d)))
        for at in range(0, n, step):
            yield self._read(at, min(at + step, n))

    def held(self) -> Floats:
        """All rows in memory."""
        return self._read(0, len(self))

    def kept(self) -> Rows:
        """The same rows, held in memory if they are few, for whoever reads them several times."""
        return Rows(self.held()) if self.shape[0] * self.shape[1] <= BLOCK_NUMBERS else self

    def take(self, places: Ints) -> Rows:
        """The rows at these places among the rows."""
        return Rows(self.source, places if self.indices is None else self.indices[places], self.columns)

    def only(self, columns: Ints) -> Rows:
        """The same rows with these of the source's columns, in rising order."""
        return Rows(self.source, self.indices, None if len(columns) == self.source.shape[1] else columns)

    def sample(self, most: int, rng: np.random.Generator) -> Rows:
        """At most so many rows, drawn without replacement, in their order."""
        if len(self) <= most:
            return self
        return self.take(np.sort(rng.choice(len(self), most, replace=False)))

    def _read(self, start: int, stop: int) -> Floats:
        if isinstance(self.source, Traces):
            every = (
                self.source.rows(start, stop) if self.indices is None else self.source.take(self.indices[start:stop])
            )
            found = every.numpy()
        else:
            found = self.source[start:stop] if self.indices is None else self.source[self.indices[start:stop]]
        return (found if self.columns is None else found[:, self.columns]).astype(np.float64)  # a copy, always


def variances(rows: Rows) -> Floats:
    """Variance of each column (divided by n), in one pass over the blocks.

    >>> variances(Rows(np.array([[1.0, 5.0], [3.0, 5.0]]))).tolist()
    [1.0, 0.0]
    """
    n, d = rows.shape
    shift, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    for place, block in enumerate(rows):
        if not place:  # near the mean, so that little is lost where a mean is far from zero
            shift = block.mean(axis=0)
        block -= shift
        first += block.sum(axis=0)
        second += np.einsum("ij,ij->j", block, block)
    return np.maximum(second / n - (first / n) ** 2, 0.0)
