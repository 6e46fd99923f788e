"""What a selection asks for: each method under each seed."""

from __future__ import annotations

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import code_of
from mutiny.campaigns.schedule import ask, together
from mutiny.core.errors import TaskFailed
from mutiny.core.progress import Progress
from mutiny.core.random import seed_for
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.worker import Ranked, Refused

Outcome = list[Ranked] | Refused | TaskFailed
"""What became of a method: a ranking for each repeat, or why there is none."""


class Plan:
    """Asks for rankings.

    Args:
        basis: of all tasks.
        seed: of the first repeat; those of the others follow from it.
        repeats: under other seeds.
        budget: within which inputs should not look alike, if that is asked for.
        progress: told what is done.
    """

    def __init__(self, basis: str, seed: int, repeats: int, budget: int | None, progress: Progress) -> None:
        self.basis, self.seed, self.repeats, self.budget, self.progress = basis, seed, repeats, budget, progress

    async def ranked(self, name: str, method: Selector) -> Outcome:
        """All repeats of a method; the first shows whether it applies."""
        try:
            first = await self._one(name, method, 0)
            rest = await together(self._one(name, method, each) for each in range(1, self.repeats))
        except (_NotHere, TaskFailed) as reason:
            self.progress.step(name, self.repeats)
            return reason.refused if isinstance(reason, _NotHere) else reason
        return [first, *rest]

    async def _one(self, name: str, method: Selector, repeat: int) -> Ranked:
        own = seed_for(self.seed, "repeat", repeat) if repeat else self.seed
        shown = f"{name}, repeat {repeat + 1}" if self.repeats > 1 else name
        task = Job("rank", [code_of(method), own, self.budget], self.basis, shown, given=(name, own))
        found: Ranked | Refused = await ask(task)
        if isinstance(found, Refused):
            raise _NotHere(found)
        self.progress.step(name)
        return found


class _NotHere(Exception):
    """A method does not apply."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(refused.reason)
        self.refused = refused
