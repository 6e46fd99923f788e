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
    """Mutants that another one makes superfluous: whatever kills the harder one kills them.

    For a pair, the inputs that tell are those whose Wilson intervals of the kill rate do not overlap. The harder mutant
    subsumes the easier one if its rate is not larger on every telling input, and there are enough of them: the Wilson
    interval of that share has a half-width below 0.05.

    Args:
        counts: for each mutant, how many instances each input kills, ``(n,)``, and the number of instances.
        level: of the Wilson intervals.

    Returns:
        The superfluous ones, in the order given.
    """
    keys = list(counts)
    bounds = {key: wilson_bounds(*counts[key], level) for key in keys}
    rates = {key: counts[key][0] / counts[key][1] for key in keys}
    gone: list[Key] = []
    for easy in keys:
        for hard in keys:
            if hard is easy:
                continue
            apart = (bounds[hard][1] < bounds[easy][0]) | (bounds[easy][1] < bounds[hard][0])
            telling = int(apart.sum())
            if telling and _enough(telling, level) and bool((rates[hard][apart] <= rates[easy][apart]).all()):
                gone.append(easy)
                break
    return tuple(gone)


def _enough(telling: int, level: float) -> bool:
    return wilson(telling, telling, level).width / 2 < 0.05
