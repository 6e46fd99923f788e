"""What DeepMutation's faults in training data share: a ratio of all items, or of those of one class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.checks import check_whole
from mutiny.faults.training.base import Program
from mutiny.faults.training.data_operator import DataOperator, Indices, of_class


@dataclass(frozen=True)
class GlobalOrLocal(DataOperator):
    """A fault in a ratio of all items (DeepMutation: global), or of the items of one class (local).

    Args:
        ratio: share of these items.
        of: the class whose items are chosen from; all items if ``None``.
    """

    source: ClassVar[str] = "DeepMutation"
    strength: ClassVar[str | None] = "ratio"
    tries: ClassVar[str] = "ratio 0 to 1"

    ratio: float = 0.01
    of: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(f"{self.code} of", 0 if self.of is None else self.of, 0)

    def groups(self, program: Program) -> list[Indices]:
        """All items, or those of the class."""
        return [np.arange(len(program.data)) if self.of is None else of_class(program, self.of, self.code)]
