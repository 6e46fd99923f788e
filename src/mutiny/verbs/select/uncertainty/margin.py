"""Prediction-confidence score (PCS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class Margin(Selector):
    """One minus the difference between the two largest class probabilities."""

    code: ClassVar[str] = "margin"
    title: ClassVar[str] = "prediction-confidence score (PCS)"
    source: ClassVar[str] = "Weiss and Tonella, Simple Techniques Work Surprisingly Well, ISSTA 2022"

    def score(self, evidence: Evidence) -> Scores:
        """``1 - (p1 - p2)``."""
        best = evidence.probabilities().double().topk(2, dim=1).values
        return (1 - (best[:, 0] - best[:, 1])).numpy()
