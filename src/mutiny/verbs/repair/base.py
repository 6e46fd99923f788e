"""Base class of repair methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mutiny.core.parsing import described
from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.verbs.repair.problem import RepairProblem


@dataclass(frozen=True)
class RepairMethod(ABC):
    """A method that proposes patches. An author writes `patches`."""

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def patches(self, problem: RepairProblem, progress: Progress) -> Sequence[Patch]:
        """Patches of weights, the most promising first; `repair` chooses on inputs that the method does not see.

        Args:
            problem: Model, failing and passing inputs, and layers that may change.
            progress: Receiver of progress messages.
        """

    def __str__(self) -> str:
        return described(self, self.code)
