"""Vanilla softmax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Softmax(Selector):
    """One minus the probability of the predicted class."""

    code: ClassVar[str] = "softmax"
    title: ClassVar[str] = "vanilla softmax"
    source: ClassVar[str] = "Weiss and Tonella, Simple Techniques Work Surprisingly Well, ISSTA 2022"

    def score(self, evidence: Evidence) -> Scores:
        """``1 - max(p)``."""
        return 1 - evidence.probabilities().double().amax(dim=1).numpy()
