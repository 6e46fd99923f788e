"""Features of a whole split, in memory if they are small, otherwise in a temporary file."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator
from typing import IO

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

IN_MEMORY_BYTES = 256 * 2**20
"""Largest size of features that are kept in memory."""
CHUNK_BYTES = 32 * 2**20
"""Size of the rows that are read at once."""


class Traces:
    """An array ``(n, d)`` that is written once, from the first row to the last, and then read by rows.

    >>> traces = Traces(3, 2)
    >>> traces.add(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    >>> traces.add(torch.tensor([[5.0, 6.0]]))
    >>> traces.take(np.array([2, 0])).tolist()
    [[5.0, 6.0], [1.0, 2.0]]
    """

    def __init__(self, n: int, d: int, in_memory: int = IN_MEMORY_BYTES) -> None:
        self.shape = (n, d)
        self._written = 0
        self._held = torch.empty((n, d)) if 4 * n * d <= in_memory else None
        self._file: IO[bytes] | None = None
        if self._held is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 -- lives as long as the traces
            weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return self.shape[0]

    def add(self, rows: Tensor) -> None:
        """Writes the next rows, in single precision."""
        stop = self._written + len(rows)
        if self._held is not None:
            self._held[self._written : stop] = rows
        elif self._file is not None:
            self._file.write(rows.float().cpu().contiguous().numpy().data)
        self._written = stop

    def rows(self, start: int, stop: int) -> Tensor:
        """Rows from ``start`` to ``stop``, exclusive."""
        if self._held is not None:
            return self._held[start:stop]
        return torch.from_numpy(self._read(start, min(stop, len(self)) - start))

    def take(self, indices: npt.NDArray[np.int64]) -> Tensor:
        """The rows at ``indices``, in that order."""
        if self._held is not None:
            return self._held.index_select(0, torch.from_numpy(indices))
        rows = torch.empty((len(indices), self.shape[1]))
        order = np.argsort(indices, kind="stable")
        for at in range(0, len(self), self.step):
            low, high = np.searchsorted(indices[order], [at, at + self.step])
            if low < high:
                here = order[low:high]
                rows[torch.from_numpy(here)] = self.rows(at, at + self.step)[torch.from_numpy(indices[here] - at)]
        return rows

    def chunks(self) -> Iterator[Tensor]:
        """Yields all rows, `step` at a time."""
        for at in range(0, len(self), self.step):
            yield self.rows(at, min(at + self.step, len(self)))

    @property
    def step(self) -> int:
        """Number of rows that are read at once."""
        return max(1, CHUNK_BYTES // (4 * self.shape[1]))

    def _read(self, start: int, count: int) -> npt.NDArray[np.float32]:
        assert self._file is not None
        self._file.flush()
        self._file.seek(4 * start * self.shape[1])
        raw = self._file.read(4 * count * self.shape[1])
        self._file.seek(0, 2)
        return np.frombuffer(bytearray(raw), np.float32).reshape(-1, self.shape[1])
