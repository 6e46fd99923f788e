"""How many guilty neurons does somebody hit who accuses at random?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from mutiny.core.stats import hypergeometric_tails


class Draw(NamedTuple):
    """So many were hit by ``drawn`` accusations, where ``marked`` of ``total`` are guilty."""

    hits: int
    drawn: int
    marked: int
    total: int


def by_chance(draws: Iterable[Draw]) -> float:
    """Two-sided p-value of the sum of hits over independent draws without replacement: twice the smaller tail.

    It is exact where the guilty were drawn at random, whatever the accused have in common.

    >>> round(by_chance([Draw(hits=2, drawn=2, marked=2, total=4)]), 4)  # once in six, on either side
    0.3333
    """
    law, seen = np.ones(1), 0
    for hits, drawn, marked, total in draws:
        most = np.arange(min(drawn, marked) + 1)
        law = np.convolve(law, np.diff(hypergeometric_tails(most, drawn, marked, total)[0], prepend=0.0))
        seen += hits
    return min(1.0, 2 * float(min(law[: seen + 1].sum(), law[seen:].sum())))
