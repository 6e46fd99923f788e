"""Additional coverage: the next input is always the one that covers most of what is not covered yet."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.base import Order
from mutiny.verbs.select.coverage.profile import CodeArray, Profile

Codes = CodeArray | Profile
"""One whole number per input and neuron, ``(n, neurons)``: the section that the input covers, or -1 for none."""
AT_ONCE = 2**18
"""Codes that are read at once, or entries of an index, of which one element may have more."""
SCANNED = 2
"""With more sections than this, or codes in a file, an index is faster than looking through codes again and again."""
COLUMN_BYTES = 64 * 2**20
"""Columns of codes that are held at once, at least one."""


def total(codes: Codes) -> npt.NDArray[np.int64]:
    """How many elements (sections of neurons) each input covers on its own, ``(n,)``: CTM in the literature.

    >>> total(np.array([[0, -1], [1, 0]])).tolist()
    [1, 2]
    """
    counts = np.zeros(codes.shape[0], dtype=np.int64)
    for some in _slices(codes):
        counts[some] = np.count_nonzero(codes[some] >= 0, axis=1)
    return counts


def additional(codes: Codes, sections: int) -> Order:
    """All inputs: those that `gainful` chooses, then the rest by how much they cover alone. CAM in the literature.

    Args:
        codes: which section of each neuron an input covers, ``(n, neurons)``, from -1 to ``sections - 1``.
        sections: of each neuron.

    Returns:
        The indices of all inputs, ``(n,)``. Of equal inputs the first comes first.

    >>> additional(np.array([[0, -1], [1, 0], [1, 0], [-1, -1], [1, -1]]), sections=2).tolist()
    [1, 0, 2, 4, 3]
    """
    return completed(gainful(codes, sections), total(codes))


def completed(chosen: Order, counts: npt.NDArray[np.int64]) -> Order:
    """The chosen inputs, then the others by falling count.

    >>> completed(np.array([2]), np.array([1, 3, 1, 0])).tolist()
    [2, 1, 0, 3]
    """
    rest = np.argsort(-counts, kind="stable")
    taken = np.zeros(len(counts), dtype=bool)
    taken[chosen] = True
    return np.concatenate([chosen, rest[~taken[rest]]])


def gainful(codes: Codes, sections: int) -> Order:
    """Inputs in greedy order, each the one that covers most elements which no earlier one covers.

    It ends when no input adds anything. When an element is covered for the first time, all inputs that cover it have
    one less to offer. That happens once for each element, so that the work grows with the number of codes and not with
    the square of the inputs: where a neuron has many sections an index knows who covers which, otherwise the codes of
    the neuron are looked through.

    >>> gainful(np.array([[0, -1], [1, 0], [1, 0], [-1, -1], [1, -1]]), sections=2).tolist()
    [1, 0]
    """
    chosen: list[int] = []
    if all(codes.shape):
        scan = sections <= SCANNED and not (isinstance(codes, Profile) and codes.in_file)
        left, cover = total(codes), _Scan(codes) if scan else _Index(codes, sections)
        while left[best := int(left.argmax())]:
            chosen.append(best)
            cover.remove(codes[best], left)
    return np.array(chosen, dtype=np.int64)


def _slices(codes: Codes) -> Iterator[slice]:
    """All rows, some at a time."""
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
    """Finds who covers an element in the neuron's codes, which have at most a few sections."""

    def __init__(self, codes: Codes) -> None:
        self.codes = codes
        self.covered = np.zeros((codes.shape[1], SCANNED), dtype=bool)

    def remove(self, row: CodeArray, left: npt.NDArray[np.int64]) -> None:
        """Takes the elements of one input, ``(neurons,)``, from what all have to offer, unless they are taken."""
        new = np.flatnonzero((row >= 0) & ~self.covered[np.arange(len(row)), row])
        self.covered[new, row[new]] = True
        for some in _slices(self.codes):
            left[some] -= np.count_nonzero(self.codes[some][:, new] == row[new], axis=1)


class _Index:
    """Which inputs cover an element: a slice of one long array of inputs, ordered by neuron and section.

    Each neuron has a first slot for the code -1, always empty, so that codes need no case of their own.
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

    def remove(self, row: CodeArray, left: npt.NDArray[np.int64]) -> None:
        """As that of `_Scan`."""
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
            np.subtract.at(left, inputs, 1)
