"""Rows and columns of a matrix that may be too large for memory, read block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.traces import Traces

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BLOCK_ROWS = 1024
"""Rows of a block; a matrix of all pairs of two blocks fits into a processor's cache."""
BLOCK_NUMBERS = 2**21
"""Largest size of a block, if rows are long."""


@dataclass(frozen=True)
class Rows:
    """Rows of ``source`` at ``indices``. Iteration yields blocks ``(m, d)`` in double precision and can be repeated.

    Args:
        source: Array or traces, ``(n, all columns)``.
        indices: Positions of the rows, in any order; all by default.
        columns: Positions of the columns; all by default.

    >>> rows = Rows(np.eye(3), np.array([2, 0]))
    >>> rows.shape, rows.held().tolist()
    ((2, 3), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    """

    source: Traces | Floats
    indices: Ints | None = None
    columns: Ints | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        n, d = self.source.shape
        return n if self.indices is None else len(self.indices), d if self.columns is None else len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Floats]:
        return self.blocks(BLOCK_ROWS)

    def blocks(self, most: int, numbers: int = BLOCK_NUMBERS) -> Iterator[Floats]:
        """Yields all rows in blocks of at most ``most`` rows and ``numbers`` numbers, but at least one row."""
        n, d = self.shape
        step = max(1, min(most, numbers // max(1, d)))
        for at in range(0, n, step):
            yield self._read(at, min(at + step, n))

    def held(self) -> Floats:
        """All rows as one array."""
        return self._read(0, len(self))

    def kept(self) -> Rows:
        """The same rows, in memory if they are small, for repeated reading."""
        return Rows(self.held()) if self.shape[0] * self.shape[1] <= BLOCK_NUMBERS else self

    def take(self, places: Ints) -> Rows:
        """The rows at these positions among the rows."""
        return Rows(self.source, places if self.indices is None else self.indices[places], self.columns)

    def only(self, columns: Ints) -> Rows:
        """The same rows with only these columns of the source, given in increasing order."""
        return Rows(self.source, self.indices, None if len(columns) == self.source.shape[1] else columns)

    def sample(self, most: int, rng: np.random.Generator) -> Rows:
        """At most ``most`` random rows, drawn without replacement, in their order."""
        if len(self) <= most:
            return self
        return self.take(np.sort(rng.choice(len(self), most, replace=False)))

    def _read(self, start: int, stop: int) -> Floats:
        if isinstance(self.source, Traces):
            traces = self.source
            rows = traces.rows(start, stop) if self.indices is None else traces.take(self.indices[start:stop])
            block = rows.numpy()
        else:
            block = self.source[start:stop] if self.indices is None else self.source[self.indices[start:stop]]
        return (block if self.columns is None else block[:, self.columns]).astype(np.float64)  # always a copy


def variances(rows: Rows) -> Floats:
    """Variance of each column (divided by n), in one pass over the blocks.

    >>> variances(Rows(np.array([[1.0, 5.0], [3.0, 5.0]]))).tolist()
    [1.0, 0.0]
    """
    n, d = rows.shape
    shift, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    for place, block in enumerate(rows):
        if not place:  # close to the mean, so that few digits are lost if the mean is far from zero
            shift = block.mean(axis=0)
        block -= shift
        first += block.sum(axis=0)
        second += np.einsum("ij,ij->j", block, block)
    return np.maximum(second / n - (first / n) ** 2, 0.0)
