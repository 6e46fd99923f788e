"""Trivial and redundant mutants, as DeepCrime defines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from mutiny.core.stats import wilson, wilson_bounds

TRIVIAL = 0.9
"""Share of killed (instance, input) pairs from which a mutant is trivial."""

Key = TypeVar("Key")


def redundant(counts: Mapping[Key, tuple[npt.NDArray[np.int64], int]], level: float = 0.9) -> tuple[Key, ...]:
    """Mutants that are superfluous because every input that kills some harder mutant kills them as well.

    An input distinguishes a pair of mutants if the Wilson intervals of its two kill rates do not overlap. The harder
    mutant subsumes the easier one if its kill rate is not larger on any of these inputs, and there are enough of them:
    the Wilson interval of that share, which is 1, has a half-width below 0.05.

    Args:
        counts: For each mutant, the number of instances that each input kills, ``(n,)``, and the number of instances.
        level: Level of the Wilson intervals.

    Returns:
        The redundant mutants, in the order given.
    """
    keys = list(counts)
    bounds = {key: wilson_bounds(*counts[key], level) for key in keys}
    rates = {key: counts[key][0] / counts[key][1] for key in keys}
    subsumed: list[Key] = []
    for easy in keys:
        for hard in keys:
            if hard is easy:
                continue
            apart = (bounds[hard][1] < bounds[easy][0]) | (bounds[easy][1] < bounds[hard][0])
            telling = int(apart.sum())
            if telling and _enough(telling, level) and bool((rates[hard][apart] <= rates[easy][apart]).all()):
                subsumed.append(easy)
                break
    return tuple(subsumed)


def _enough(telling: int, level: float) -> bool:
    return wilson(telling, telling, level).width / 2 < 0.05
