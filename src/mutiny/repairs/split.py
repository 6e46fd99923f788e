"""Three roles for inputs: to repair with, to choose among repairs, and to judge what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.errors import BadInput

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


def split(strata: Ints, shares: Sequence[float], rng: np.random.Generator) -> list[Ints]:
    """Rising positions for each role, drawn so that every stratum is spread over the roles as the shares say.

    >>> parts = split(np.repeat([0, 1], [80, 20]), (0.5, 0.25, 0.25), np.random.default_rng(0))
    >>> [(int((part < 80).sum()), int((part >= 80).sum())) for part in parts]
    [(39, 11), (21, 5), (20, 4)]
    """
    shuffled = rng.permutation(len(strata))
    order = shuffled[np.argsort(strata[shuffled], kind="stable")]
    spread = (rng.random() + TURN * np.arange(len(order))) % 1
    role = np.searchsorted(np.cumsum(shares[:-1]), spread, side="right")
    return [np.sort(order[role == number]) for number in range(len(shares))]
