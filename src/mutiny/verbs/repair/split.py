"""Three roles for inputs: to repair with, to choose among repairs, and to judge what was chosen."""

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
"""Multiples of the golden ratio, taken modulo 1, spread evenly over 0..1, however many there are."""


def check_shares(shares: Any) -> None:
    """An error if these are not three shares of the inputs."""
    fine = isinstance(shares, (tuple, list)) and len(shares) == len(ROLES)
    fine = (
        fine and all(isinstance(share, Real) and float(share) > 0 for share in shares) and abs(sum(shares) - 1) <= 1e-9
    )
    if not fine:
        raise BadInput("shares", shares, f"three numbers above 0 that sum to 1: {', '.join(ROLES)}")


def split(strata: Ints, shares: Sequence[float], rng: np.random.Generator, groups: Ints | None = None) -> list[Ints]:
    """Rising positions for each role, drawn so that every stratum is spread over the roles as the shares say.

    Args:
        strata: of each input, ``(n,)``.
        shares: of the roles.
        rng: draws.
        groups: inputs with the same number share a role; each stands alone if not given. A group counts to the stratum
            of its first input, and those of one size are spread together, so that shares stay as near as they can.

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
    """A number for each input that equal inputs have in common, ``(n,)``; so have mutants of one input.

    >>> from mutiny.subjects.data import as_data
    >>> equals(as_data(([[1.0], [2.0], [1.0]], [0, 1, 1]), "data")).tolist()
    [0, 1, 0]
    """
    keys = contents(data)
    values, key = np.unique(keys, return_inverse=True)
    rows = np.repeat(np.arange(len(keys)), keys.shape[1])
    nodes = len(keys) + len(values)
    links = coo_array((np.ones(len(rows)), (rows, len(keys) + key.ravel())), shape=(nodes, nodes))
    found: Ints = connected_components(links, directed=False)[1][: len(keys)].astype(np.int64)
    return found
