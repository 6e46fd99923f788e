"""Random choice, the baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class RandomChoice(Selector):
    """A random order: the baseline that every method should beat."""

    code: ClassVar[str] = "random"
    title: ClassVar[str] = "random choice"
    source: ClassVar[str] = "NSS, section 4.1.3"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    def score(self, evidence: Evidence) -> Scores:
        """Uniform numbers."""
        return evidence.rng("random").random(evidence.size)
