"""Splits inputs into three roles: to find patches, to choose one, and to evaluate the choice."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mutiny.core.errors import BadInput
from mutiny.subjects.data import Data
from mutiny.subjects.data.joined import contents

Ints = npt.NDArray[np.int64]
ROLES = ("repair", "validation", "held-out")
TURN = (5**0.5 - 1) / 2
"""Golden ratio minus 1. Its multiples modulo 1 spread evenly over 0..1, whatever their number."""


def check_shares(shares: Any) -> None:
    """Raises an error unless these are three shares that sum to 1."""
    three = isinstance(shares, (tuple, list)) and len(shares) == len(ROLES)
    positive = three and all(isinstance(share, Real) and float(share) > 0 for share in shares)
    if not positive or abs(sum(shares) - 1) > 1e-9:
        raise BadInput("shares", shares, f"three numbers above 0 that sum to 1: {', '.join(ROLES)}")


def split(strata: Ints, shares: Sequence[float], rng: np.random.Generator, groups: Ints | None = None) -> list[Ints]:
    """Positions of the inputs of each role, ascending; every stratum is split by the shares as closely as possible.

    Args:
        strata: Stratum of each input, ``(n,)``.
        shares: Shares of the roles.
        rng: Random generator.
        groups: Group of each input, ``(n,)``; inputs of a group get the same role. By default each input is a group. A
            group belongs to the stratum of its first input; within a stratum, groups are dealt by size, the largest
            first, so that sizes are spread evenly too.

    >>> parts = split(np.repeat([0, 1], [80, 20]), (0.5, 0.25, 0.25), np.random.default_rng(0))
    >>> [(int((part < 80).sum()), int((part >= 80).sum())) for part in parts]
    [(39, 11), (21, 5), (20, 4)]
    """
    groups = np.arange(len(strata)) if groups is None else groups
    _, first, group, size = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(first))
    order = shuffled[np.lexsort((-size[shuffled], strata[first][shuffled]))]
    spread = (rng.random() + TURN * np.arange(len(order))) % 1
    role = np.empty(len(order), np.int64)
    role[order] = np.searchsorted(np.cumsum(shares[:-1]), spread, side="right")
    return [np.flatnonzero(role[group] == number) for number in range(len(shares))]


def equals(data: Data) -> Ints:
    """Group number of each input, ``(n,)``: equal inputs share it, and so do mutations of the same input.

    >>> from mutiny.subjects.data import as_data
    >>> equals(as_data(([[1.0], [2.0], [1.0]], [0, 1, 1]), "data")).tolist()
    [0, 1, 0]
    """
    keys = contents(data)
    values, key = np.unique(keys, return_inverse=True)
    rows = np.repeat(np.arange(len(keys)), keys.shape[1])
    nodes = len(keys) + len(values)
    links = coo_array((np.ones(len(rows)), (rows, len(keys) + key.ravel())), shape=(nodes, nodes))
    groups: Ints = connected_components(links, directed=False)[1][: len(keys)].astype(np.int64)
    return groups
