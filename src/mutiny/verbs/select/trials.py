"""What retraining asks for: for each repeat the judges, every method's order, and a trained copy for each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.schedule import ask, together
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress
from mutiny.verbs.select.base import Order
from mutiny.verbs.select.gains import BEFORE, CONTROL, Trial
from mutiny.verbs.select.ranking import Refused, none_applies


@dataclass(frozen=True)
class Start:
    """A repeat before any training.

    Attributes:
        accuracies: of the original, on each set of judges.
        judges: how many are in each set.
        candidates: inputs that may be chosen.
        train_inputs: that are trained on again.
    """

    accuracies: list[float]
    judges: tuple[int, ...]
    candidates: int
    train_inputs: int


class Told(NamedTuple):
    """One repeat: its start, accuracies, and the methods that do not apply with the reason."""

    start: Start
    accuracies: Trial
    skipped: dict[str, str]


class Plan:
    """Asks for rankings and trainings.

    Args:
        basis: of all tasks.
        methods: names, and what identifies each.
        asked: names of those of which at least one must apply.
        count: candidates that are labelled.
        epochs: of one training, for progress.
        progress: told what is done.
    """

    def __init__(
        self,
        basis: str,
        methods: Mapping[str, str],
        asked: Collection[str],
        count: int,
        epochs: int,
        progress: Progress,
    ) -> None:
        self.basis, self.methods, self.asked, self.count = basis, methods, asked, count
        self.epochs, self.progress = epochs, progress

    async def trial(self, repeat: int) -> Told:
        """One repeat."""
        start: Start = await ask(Job("before", [repeat], self.basis, f"repeat {repeat + 1}: before"))
        found = await together(self._ranked(repeat, name) for name in self.methods)
        orders = {name: one for name, one in zip(self.methods, found, strict=True) if not isinstance(one, Refused)}
        refused = {name: one for name, one in zip(self.methods, found, strict=True) if isinstance(one, Refused)}
        skipped = {name: one.reason.rstrip(".") for name, one in refused.items()}
        check_some(self.asked, skipped)
        for name in refused:
            self.progress.step(name, self.epochs)
        wanted: dict[str, Order | None] = {CONTROL: None, **orders}
        after = await together(self._trained(repeat, name, order) for name, order in wanted.items())
        trial = {BEFORE: start.accuracies, **dict(zip(wanted, after, strict=True))}
        return Told(start, trial, skipped)

    async def _ranked(self, repeat: int, name: str) -> Order | Refused:
        task = Job("rank", [repeat, self.methods[name]], self.basis, f"repeat {repeat + 1}: {name}", given=name)
        found: Order | Refused = await ask(task)
        return found

    async def _trained(self, repeat: int, name: str, order: Order | None) -> list[float]:
        chosen = None if order is None else order[: self.count]
        which = None if chosen is None else hash_of(chosen.tolist())
        shown = f"repeat {repeat + 1}: retrained with {name}"
        found: list[float] = await ask(Job("retrain", [repeat, which], self.basis, shown, given=chosen))
        self.progress.step(name, self.epochs)
        return found


def check_some(asked: Collection[str], skipped: Mapping[str, str]) -> None:
    """An error if none of the methods that were asked for applies."""
    if all(name in skipped for name in asked):
        raise none_applies(skipped)
