"""What a method of repair is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.parsing import described
from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.verbs.repair.damage import Damage


@dataclass(frozen=True)
class Method(ABC):
    """Looks at damage and proposes patches."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def patches(self, damage: Damage, progress: Progress) -> Sequence[Patch]:
        """Patches of weights, the most promising first; which one is taken is decided on inputs it has not seen."""

    def __str__(self) -> str:
        return described(self, self.code)
