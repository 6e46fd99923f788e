"""DeepGini: the Gini impurity of the predicted class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.verbs.select.base import Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class DeepGini(Selector):
    """One minus the sum of squared class probabilities: the probability that two random draws of a class differ."""

    code: ClassVar[str] = "deepgini"
    title: ClassVar[str] = "DeepGini"
    source: ClassVar[str] = "Feng et al., DeepGini, ISSTA 2020"

    def score(self, evidence: Evidence) -> Scores:
        """``1 - sum(p ** 2)``."""
        return 1 - evidence.probabilities().double().square().sum(dim=1).numpy()
