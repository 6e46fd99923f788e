"""The sections that each input of a pool covers, in memory if they are small, otherwise in a temporary file."""

from __future__ import annotations

import tempfile
import weakref
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.traces import IN_MEMORY_BYTES

CodeArray = npt.NDArray[np.signedinteger[Any]]


class Profile:
    """An array of the section of each neuron that each input covers, or -1 for none, ``(n, neurons)``.

    Rows are written once, in any order, and then read like those of a numpy array, by an index or a slice.

    Args:
        n: Number of inputs.
        neurons: Number of neurons of all layers.
        sections: Number of sections of each neuron, which decides the integer type.
        in_memory: Largest size in bytes that is kept in memory.

    >>> profile = Profile(3, 2, sections=4)
    >>> profile.put(np.array([2, 0, 1]), np.array([[3, -1], [0, 0], [1, 2]]))
    >>> profile[2].tolist(), profile[0:2].tolist()
    ([3, -1], [[0, 0], [1, 2]])
    """

    def __init__(self, n: int, neurons: int, sections: int, in_memory: int = IN_MEMORY_BYTES) -> None:
        kinds = (np.int8, np.int16, np.int32)
        self.shape = (n, neurons)
        self.dtype = np.dtype(next(kind for kind in kinds if sections - 1 <= np.iinfo(kind).max))
        self._bytes = neurons * self.dtype.itemsize
        self._held: CodeArray | None = np.empty(self.shape, self.dtype) if n * self._bytes <= in_memory else None
        self._file: IO[bytes] | None = None if self._held is not None else tempfile.TemporaryFile()  # noqa: SIM115
        if self._file is not None:
            weakref.finalize(self, self._file.close)

    @property
    def in_file(self) -> bool:
        """Whether rows are read from a file."""
        return self._file is not None

    def put(self, rows: npt.NDArray[np.int64], codes: CodeArray) -> None:
        """Writes ``codes``, ``(len(rows), neurons)``, to these rows."""
        if self._held is not None:
            self._held[rows] = codes
        elif self._file is not None:
            for row, values in zip(rows.tolist(), np.ascontiguousarray(codes, self.dtype), strict=True):
                self._file.seek(row * self._bytes)
                self._file.write(values.data)

    def __getitem__(self, rows: int | slice) -> CodeArray:
        if self._held is not None:
            return self._held[rows]
        assert self._file is not None
        start, stop, _ = (rows if isinstance(rows, slice) else slice(rows, rows + 1)).indices(self.shape[0])
        self._file.seek(start * self._bytes)
        codes = np.frombuffer(self._file.read((stop - start) * self._bytes), self.dtype).reshape(-1, self.shape[1])
        return codes if isinstance(rows, slice) else codes[0]
