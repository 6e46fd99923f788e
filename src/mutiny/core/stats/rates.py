"""How often something happens, and how often it may."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mutiny.core.errors import BadInput
from mutiny.core.stats.intervals import Interval
from mutiny.core.stats.tails import clopper_pearson


@dataclass(frozen=True)
class Rate:
    """A share, with where it may lie on others of the same kind (Clopper and Pearson).

    >>> Rate.of([True, False, True, True]).value
    0.75
    """

    count: int
    total: int
    interval: Interval

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.total:
            raise BadInput("count", self.count, f"at least 0, and at most the total, {self.total}")

    @property
    def value(self) -> float | None:
        """``None`` where there are no inputs."""
        return self.count / self.total if self.total else None

    @classmethod
    def of(cls, which: ArrayLike) -> Rate:
        """How many are true."""
        found = np.asarray(which, bool)
        count, total = int(found.sum()), found.size
        return cls(count, total, clopper_pearson(count, total))

    def to_json(self) -> dict[str, object]:
        """Plain values."""
        return {"value": self.value, "count": self.count, "total": self.total, "interval": vars(self.interval)}
