"""Random choice: what every method must beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mutiny.verbs.select.base import BOTH, Scores, Selector
from mutiny.verbs.select.evidence import Evidence


@dataclass(frozen=True)
class RandomChoice(Selector):
    """Any input is as good as any other. The baseline that every method must beat."""

    code: ClassVar[str] = "random"
    title: ClassVar[str] = "random choice"
    source: ClassVar[str] = "NSS, section 4.1.3"
    tasks: ClassVar[tuple[type, ...]] = BOTH

    def score(self, evidence: Evidence) -> Scores:
        """Uniform numbers."""
        return evidence.rng("random").random(evidence.size)
