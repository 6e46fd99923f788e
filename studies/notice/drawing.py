"""Draws of originals: disjoint groups, each with the folds that `assess` would give them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mutiny.verbs.assess.verb import default_seeds
from studies.notice.table import FaultTable, Ints


def groups(originals: Sequence[int], size: int, folds: int, rng: np.random.Generator) -> list[Ints]:
    """Originals in random, disjoint groups, in each of which every fold is left out about equally often.

    >>> [sorted(group.tolist()) for group in groups(range(4), 2, 2, np.random.default_rng(0))]
    [[0, 1], [2, 3]]
    """
    by_fold = [rng.permutation([number for number in originals if number % folds == fold]) for fold in range(folds)]
    longest = max(len(part) for part in by_fold)
    dealt = [int(part[at]) for at in range(longest) for part in by_fold if at < len(part)]
    return [np.array(dealt[start : start + size]) for start in range(0, len(dealt) - size + 1, size)]


def of_all(table: FaultTable, seeds: int) -> FaultTable:
    """Faults of all originals, with equally many random choices of each."""
    return table.of(table.seed < seeds).rescaled()


def of_group(table: FaultTable, group: Ints) -> FaultTable:
    """Faults that `assess` would find for these originals: as many random choices as it makes for so many."""
    return table.of(np.isin(table.original, group) & (table.seed < default_seeds(len(group)))).rescaled()
