"""Several methods at once: the mean of their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata

from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Combined(Selector):
    """The mean rank of an input over several methods; written with a plus sign, ``deepgini+dsa``.

    Ranks need no common scale: each method has the same say, and inputs that a method holds equal share their rank.
    """

    code: ClassVar[str] = "combined"
    title: ClassVar[str] = "mean of ranks"
    source: ClassVar[str] = "mutiny; Borda's count"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    methods: tuple[Selector, ...] = ()

    def score(self, evidence: Evidence) -> Scores:
        """Between 0 and 1."""
        ranks = [rankdata(method.rank(evidence)[1]) for method in self.methods]
        mean: Scores = np.mean(ranks, axis=0) / evidence.size
        return mean
