"""Nearest neighbours by Euclidean distance: fast products find candidates, exact differences decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows

SAFE = 1e15
"""Lengths above this could overflow in single precision when they are squared and summed."""
QUERY_ROWS, QUERY_NUMBERS = 16384, 2**23
"""Queries that share one pass over the references."""
TILE_ROWS = 512
PAIR_NUMBERS = 2**20


def nearest(queries: Rows, references: Rows, within: Floats | None = None) -> tuple[Floats, Ints]:
    """Distance to the nearest reference and its place among them, for each query: two arrays ``(m,)``.

    ``|q - r|^2 = |q|^2 - 2 q.r + |r|^2`` in single precision costs one product of matrices, but cancels where points
    are close. So it only rules out: whatever the bound on its error leaves possible is compared by differences in
    double precision. The result is exact; of references at the same distance the first is named.

    Args:
        queries: ``(m, d)``.
        references: ``(n, d)``.
        within: how far away a reference may be, ``(m,)``: what is not nearer has this distance, and place 0. That many
            references need not be looked at closely is what makes it faster.

    >>> distances, places = nearest(Rows(np.array([[0.0, 0.0], [5.0, 5.0]])), Rows(np.array([[3.0, 4.0], [5.0, 5.0]])))
    >>> distances.tolist(), places.tolist()
    ([5.0, 0.0], [0, 1])
    """
    found, places, done = [], [], 0
    center = next(iter(references)).mean(axis=0)
    for block in queries.blocks(QUERY_ROWS, QUERY_NUMBERS):
        best, place = np.full(len(block), np.inf), np.zeros(len(block), dtype=np.int64)
        if within is not None:
            best = within[done : done + len(block)] ** 2
            done += len(block)
        approximate, start = _DistanceBounds(block, center), 0
        for candidates in references:
            approximate.improve(candidates, start, best, place)
            start += len(candidates)
        found.append(np.sqrt(best))
        places.append(place)
    return (np.concatenate(found), np.concatenate(places)) if found else (np.empty(0), np.empty(0, np.int64))


class _DistanceBounds:
    """Queries, prepared for products with references."""

    def __init__(self, queries: Floats, center: Floats) -> None:
        self.queries, self.center = queries, center
        moved = queries - center
        self.squares = np.einsum("ij,ij->i", moved, moved)
        self.lengths = np.sqrt(self.squares)
        self.left = self._left(np.float32 if self.lengths.max() < SAFE else np.float64)

    def _left(self, kind: type[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
        """Rows ``(-2 q, 1)``: times ``(r, |r|^2)``, they give the distance but for ``|q|^2``."""
        left = np.ones((len(self.queries), self.queries.shape[1] + 1), kind)
        np.subtract(self.center, self.queries, out=left[:, :-1], casting="same_kind")
        left[:, :-1] *= 2
        return left

    def improve(self, references: Floats, start: int, best: Floats, place: Ints) -> None:
        """Writes squared distances that are smaller than ``best`` and the places of the references."""
        moved = references - self.center
        squares = np.einsum("ij,ij->i", moved, moved)
        longest = float(np.sqrt(squares.max()))
        if longest >= SAFE and self.left.dtype == np.float32:
            self.left = self._left(np.float64)
        right = np.column_stack([moved, squares]).astype(self.left.dtype).T
        limits = np.finfo(self.left.dtype)
        # rounding of inputs, products and sums, at its worst, for both of two references that are compared
        slack = 2 * (len(right) + 8) * (float(limits.eps) * (self.lengths + longest) ** 2 + float(limits.tiny))
        for at in range(0, len(best), TILE_ROWS):
            tile = slice(at, at + TILE_ROWS)
            rough = self.left[tile] @ right
            lowest = rough.min(axis=1)
            bound = np.minimum(lowest, best[tile] - self.squares[tile]) + slack[tile]
            some = np.flatnonzero(lowest <= bound)
            of, to = np.nonzero(rough[some] <= bound[some, None].astype(rough.dtype))
            if len(of):
                self._decide(references, some[of] + at, to, start, best, place)

    def _decide(self, references: Floats, of: Ints, to: Ints, start: int, best: Floats, place: Ints) -> None:
        """Compares candidates by exact differences; ``of`` is sorted, and ``to`` within it."""
        exact = np.empty(len(of))
        step = max(1, PAIR_NUMBERS // references.shape[1])
        for at in range(0, len(of), step):
            pairs = slice(at, at + step)
            apart = self.queries[of[pairs]] - references[to[pairs]]
            exact[pairs] = np.einsum("ij,ij->i", apart, apart)
        order = np.lexsort((to, exact, of))
        query, first = np.unique(of[order], return_index=True)
        winner = order[first]
        better = exact[winner] < best[query]
        best[query[better]] = exact[winner][better]
        place[query[better]] = to[winner][better] + start
