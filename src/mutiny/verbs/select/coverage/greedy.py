"""Additional coverage: a greedy order of inputs by the number of elements that are not covered yet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.base import Order
from mutiny.verbs.select.coverage.profile import CodeArray, Profile

Codes = CodeArray | Profile
"""Section of each neuron that each input covers, or -1 for none, ``(n, neurons)``."""
AT_ONCE = 2**18
"""Codes, or entries of an index, that are read at once; a single element may have more entries."""
SCANNED = 2
"""Largest number of sections for which scanning codes in memory is faster than an index."""
COLUMN_BYTES = 64 * 2**20
"""Largest size, in bytes, of the columns of codes in memory; at least one column."""


def total(codes: Codes) -> npt.NDArray[np.int64]:
    """Number of elements (sections of neurons) that each input covers alone, ``(n,)``: CTM in the literature.

    >>> total(np.array([[0, -1], [1, 0]])).tolist()
    [1, 2]
    """
    counts = np.zeros(codes.shape[0], dtype=np.int64)
    for some in _slices(codes):
        counts[some] = np.count_nonzero(codes[some] >= 0, axis=1)
    return counts


def additional(codes: Codes, sections: int) -> Order:
    """Order of all inputs: those that `gainful` chooses, then the rest by `total`: CAM in the literature.

    Args:
        codes: Section of each neuron that an input covers, ``(n, neurons)``, from -1 to ``sections - 1``.
        sections: Number of sections of each neuron.

    Returns:
        Indices of all inputs, ``(n,)``. Ties are in the order of the inputs.

    >>> additional(np.array([[0, -1], [1, 0], [1, 0], [-1, -1], [1, -1]]), sections=2).tolist()
    [1, 0, 2, 4, 3]
    """
    return completed(gainful(codes, sections), total(codes))


def completed(chosen: Order, counts: npt.NDArray[np.int64]) -> Order:
    """The chosen inputs, then the others by decreasing count.

    >>> completed(np.array([2]), np.array([1, 3, 1, 0])).tolist()
    [2, 1, 0, 3]
    """
    rest = np.argsort(-counts, kind="stable")
    taken = np.zeros(len(counts), dtype=bool)
    taken[chosen] = True
    return np.concatenate([chosen, rest[~taken[rest]]])


def gainful(codes: Codes, sections: int) -> Order:
    """Inputs in greedy order: repeatedly the input that covers most new elements, until none covers a new one.

    When an element is covered for the first time, the gain of all inputs that cover it decreases by one. This happens
    once for each element, so the cost grows with the number of codes and not with the square of the number of inputs.
    The inputs that cover an element are found by an index if neurons have many sections, otherwise by a scan.

    >>> gainful(np.array([[0, -1], [1, 0], [1, 0], [-1, -1], [1, -1]]), sections=2).tolist()
    [1, 0]
    """
    chosen: list[int] = []
    if all(codes.shape):
        scan = sections <= SCANNED and not (isinstance(codes, Profile) and codes.in_file)
        gains, inputs = total(codes), _Scan(codes) if scan else _Index(codes, sections)
        while gains[best := int(gains.argmax())]:
            chosen.append(best)
            inputs.remove(codes[best], gains)
    return np.array(chosen, dtype=np.int64)


def _slices(codes: Codes) -> Iterator[slice]:
    """Slices of all rows, with at most `AT_ONCE` codes each, but at least one row."""
    n, neurons = codes.shape
    step = max(1, AT_ONCE // max(1, neurons))
    return (slice(at, at + step) for at in range(0, n, step))


def _columns(codes: Codes) -> Iterator[CodeArray]:
    """The codes of every neuron, ``(n,)`` each."""
    n, neurons = codes.shape
    width = max(1, min(neurons, COLUMN_BYTES // (n * codes.dtype.itemsize)))
    held = np.empty((width, n), codes.dtype)
    for at in range(0, neurons, width):
        these = min(width, neurons - at)
        for some in _slices(codes):
            held[:these, some] = codes[some][:, at : at + these].T
        yield from held[:these]


class _Scan:
    """Finds the inputs that cover an element by a scan of all codes."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.covered = np.zeros((codes.shape[1], SCANNED), dtype=bool)

    def remove(self, row: CodeArray, gains: npt.NDArray[np.int64]) -> None:
        """Subtracts the new elements of one input, ``(neurons,)``, from the gains of all inputs that cover them."""
        new = np.flatnonzero((row >= 0) & ~self.covered[np.arange(len(row)), row])
        self.covered[new, row[new]] = True
        for some in _slices(self.codes):
            gains[some] -= np.count_nonzero(self.codes[some][:, new] == row[new], axis=1)


class _Index:
    """The inputs that cover each element: slices of one array of inputs, ordered by neuron and section.

    The first slot of each neuron is for the code -1 and always empty, so that this code needs no special case.
    """

    def __init__(self, codes: Codes, sections: int) -> None:
        n, neurons = codes.shape
        self.firsts = np.arange(neurons) * (sections + 1) + 1
        self.inputs = np.empty(int(total(codes).sum()), dtype=np.uint16 if n <= 2**16 else np.uint32)
        counts = np.empty((neurons, sections + 1), dtype=np.int64)
        filled = 0
        for neuron, column in enumerate(_columns(codes)):
            counts[neuron] = np.bincount(column.astype(np.int64) + 1, minlength=sections + 1)
            some = np.argsort(column, kind="stable")[counts[neuron, 0] :]
            self.inputs[filled : filled + len(some)] = some
            filled += len(some)
        counts[:, 0] = 0
        self.lengths = counts.ravel()
        self.starts = self.lengths.cumsum()
        self.starts -= self.lengths

    def remove(self, row: CodeArray, gains: npt.NDArray[np.int64]) -> None:
        """Subtracts the new elements of one input, as `_Scan.remove` does."""
        slots = self.firsts + row
        lengths = self.lengths[slots]
        full = lengths.nonzero()[0]
        slots, lengths = slots[full], lengths[full]
        self.lengths[slots] = 0
        starts, stops = self.starts[slots], self.starts[slots] + lengths
        pieces = [self.inputs[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        cuts = (np.flatnonzero(np.diff(lengths.cumsum() // AT_ONCE)) + 1).tolist()
        for start, stop in zip([0, *cuts], [*cuts, len(pieces)], strict=True):
            inputs = np.concatenate(pieces[start:stop], dtype=np.intp)  # this type keeps np.subtract.at fast
            np.subtract.at(gains, inputs, 1)
