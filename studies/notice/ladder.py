"""The search of `assess`, repeated among faults that were measured at many strengths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from mutiny.core.stats.notice import POINTS
from mutiny.verbs.assess.strength_search import place
from studies.notice.table import Bools, FaultTable, Floats, Ints


@dataclass(frozen=True, eq=False)
class Ladder:
    """Faults at many strengths, among which a search chooses.

    Attributes:
        table: the faults.
    """

    table: FaultTable

    @cached_property
    def searches(self) -> list[list[Ints]]:
        """Rows of each search: those of the first parameter by strength, then those of the next."""
        table = self.table

        def key(row: int) -> tuple[int, str]:
            return int(table.original[row]), str(table.operator[row])

        ordered = sorted(range(len(table)), key=lambda row: (*key(row), str(table.parameter[row]), table.strength[row]))
        return [
            [np.array([*part]) for _, part in groupby(group, key=lambda row: str(table.parameter[row]))]
            for _, group in groupby(ordered, key=key)
        ]

    def tried(self, costs: Floats) -> Bools:
        """Which faults the search of `assess` tries, if they cost this."""
        found = np.zeros(len(costs), bool)
        for parameters in self.searches:
            for rungs in parameters:
                self._place(rungs, costs, found)
                if costs[rungs][found[rungs]].max(initial=0.0) >= POINTS[-2]:
                    break
        return found

    def _place(self, rungs: Ints, costs: Floats, found: Bools) -> None:
        logs = np.log(self.table.strength[rungs])

        def cost_at(strength: float) -> float | None:
            row = rungs[int(np.abs(logs - np.log(strength)).argmin())]
            if found[row]:
                return None
            found[row] = True
            return float(costs[row])

        place(cost_at, (0.0, float(self.table.strength[rungs[-1]])), POINTS)
