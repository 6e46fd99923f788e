"""What every input of a pool covers: in memory while it is small, in a temporary file otherwise."""

from __future__ import annotations

import tempfile
import weakref
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.traces import IN_MEMORY_BYTES

CodeArray = npt.NDArray[np.signedinteger[Any]]


class Profile:
    """One whole number per input and neuron, ``(n, neurons)``: the section that is covered, or -1 for none.

    Rows are written once, in any order, and then read as those of an array, singly or in slices.

    Args:
        n: inputs.
        neurons: of all layers together.
        sections: of each neuron; the numbers take no more bytes than these need.
        in_memory: bytes up to which no file is used.

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
        """Whether reading rows costs more than a look at memory."""
        return self._file is not None

    def put(self, rows: npt.NDArray[np.int64], codes: CodeArray) -> None:
        """Writes ``codes`` of shape ``(len(rows), neurons)`` into these rows."""
        if self._held is not None:
            self._held[rows] = codes
        elif self._file is not None:
            for row, one in zip(rows.tolist(), np.ascontiguousarray(codes, self.dtype), strict=True):
                self._file.seek(row * self._bytes)
                self._file.write(one.data)

    def __getitem__(self, rows: int | slice) -> CodeArray:
        if self._held is not None:
            return self._held[rows]
        assert self._file is not None
        start, stop, _ = (rows if isinstance(rows, slice) else slice(rows, rows + 1)).indices(self.shape[0])
        self._file.seek(start * self._bytes)
        found = np.frombuffer(self._file.read((stop - start) * self._bytes), self.dtype).reshape(-1, self.shape[1])
        return found if isinstance(rows, slice) else found[0]
