"""Nearest neighbors by Euclidean distance: fast matrix products find candidates, exact differences decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.verbs.select.surprise.rows import Floats, Ints, Rows

SAFE = 1e15
"""Largest length in single precision; sums of squares of larger ones could overflow."""
QUERY_ROWS, QUERY_NUMBERS = 16384, 2**23
"""Queries, and their numbers, that share one pass over the references."""
TILE_ROWS = 512
"""Queries per matrix product."""
PAIR_NUMBERS = 2**20
"""Numbers that are compared exactly at once."""


def nearest(queries: Rows, references: Rows, within: Floats | None = None) -> tuple[Floats, Ints]:
    """Distance to the nearest reference and its position, for each query: two arrays ``(m,)``.

    ``|q - r|^2 = |q|^2 - 2 q.r + |r|^2`` in single precision is one matrix product, but loses digits if points are
    close. So it only excludes references: those that may be nearest, within the bound of its error, are compared by
    differences in double precision. The result is exact; the first of several references at the same distance is
    returned.

    Args:
        queries: Points, ``(m, d)``.
        references: Points to search, ``(n, d)``.
        within: Largest distance to search, ``(m,)``; queries without a nearer reference get this distance and position
            0. It is faster, because more references are excluded.

    >>> distances, places = nearest(Rows(np.array([[0.0, 0.0], [5.0, 5.0]])), Rows(np.array([[3.0, 4.0], [5.0, 5.0]])))
    >>> distances.tolist(), places.tolist()
    ([5.0, 0.0], [0, 1])
    """
    distances, places, done = [], [], 0
    center = next(iter(references)).mean(axis=0)
    for block in queries.blocks(QUERY_ROWS, QUERY_NUMBERS):
        best, place = np.full(len(block), np.inf), np.zeros(len(block), dtype=np.int64)
        if within is not None:
            best = within[done : done + len(block)] ** 2
            done += len(block)
        bounds, start = _DistanceBounds(block, center), 0
        for candidates in references:
            bounds.improve(candidates, start, best, place)
            start += len(candidates)
        distances.append(np.sqrt(best))
        places.append(place)
    return (np.concatenate(distances), np.concatenate(places)) if distances else (np.empty(0), np.empty(0, np.int64))


class _DistanceBounds:
    """Approximate distances between some queries and references, with a bound on their error."""

    def __init__(self, queries: Floats, center: Floats) -> None:
        self.queries, self.center = queries, center
        moved = queries - center
        self.squares = np.einsum("ij,ij->i", moved, moved)
        self.lengths = np.sqrt(self.squares)
        self.left = self._left(np.float32 if self.lengths.max() < SAFE else np.float64)

    def _left(self, kind: type[np.floating[Any]]) -> npt.NDArray[np.floating[Any]]:
        """Rows ``(-2 q, 1)``; their product with ``(r, |r|^2)`` is the squared distance minus ``|q|^2``."""
        left = np.ones((len(self.queries), self.queries.shape[1] + 1), kind)
        np.subtract(self.center, self.queries, out=left[:, :-1], casting="same_kind")
        left[:, :-1] *= 2
        return left

    def improve(self, references: Floats, start: int, best: Floats, place: Ints) -> None:
        """Updates ``best`` and ``place`` for queries with a nearer reference; ``best`` holds squared distances."""
        moved = references - self.center
        squares = np.einsum("ij,ij->i", moved, moved)
        longest = float(np.sqrt(squares.max()))
        if longest >= SAFE and self.left.dtype == np.float32:
            self.left = self._left(np.float64)
        right = np.column_stack([moved, squares]).astype(self.left.dtype).T
        limits = np.finfo(self.left.dtype)
        # worst-case rounding of inputs, products and sums, for both of two references that are compared
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
        """Compares candidate pairs by exact differences; pairs are sorted by ``of`` and then by ``to``."""
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
