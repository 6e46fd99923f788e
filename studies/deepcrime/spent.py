"""What an operator has cost so far, also in runs that were stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mutiny.verbs.assess.muff.trainer import Trainer
from studies.clock import Clock
from studies.store import Rows, number

COSTS = ("trainings", "seconds", "cpu_seconds")


def spent_rows(folder: Path) -> Rows:
    return Rows(folder / "spent.csv", ("subject", "operator", *COSTS), 2)


class Spent:
    """A progress that counts trainings and seconds.

    With a trainer the count is written after every mutant, and a new run goes on from there: it finds the networks of
    the run that was stopped on the disk, and would take them for free. Only those of the mutant that was in work are
    not counted. Without a trainer everything is done again, and the count starts at nothing.

    Args:
        folder: of the study's numbers.
        subject: what is tested.
        operator: whose cost it is.
        trainer: of networks.
    """

    def __init__(self, folder: Path, subject: str, operator: str, trainer: Trainer | None) -> None:
        self.folder, self.trainer = folder, trainer
        self._unit = {"subject": subject, "operator": operator}
        row = None if trainer is None else spent_rows(folder).get(subject, operator)
        self.cost: dict[str, float] = {name: number(row, name) or 0.0 for name in COSTS}
        self._clock, self._trainings = Clock(), trainer.trainings if trainer else 0

    def stage(self, title: str, total: int) -> None:
        """Nothing to count."""

    def step(self, note: str = "", done: int = 1) -> None:
        """A mutant was judged."""
        del note, done
        self.count()

    def count(self) -> dict[str, Any]:
        """Everything up to now, as columns."""
        now = self.trainer.trainings if self.trainer else 0
        for name, more in {"trainings": now - self._trainings, **self._clock.lap()}.items():
            self.cost[name] += more
        self._trainings = now
        if self.trainer is not None:
            spent_rows(self.folder).put([self._unit | self.cost])
        return {**self.cost, "trainings": round(self.cost["trainings"])}
