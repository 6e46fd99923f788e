"""What an attack asks for: mutants first, then every attack at every distance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import code_of
from mutiny.campaigns.schedule import ask, together
from mutiny.core.progress import Progress
from mutiny.verbs.attack.ensemble import Combine
from mutiny.verbs.attack.mutants import Choice
from mutiny.verbs.attack.worker import Clean, Done, Team, Way


class Plan:
    """Asks for mutants, then for each attack at each distance."""

    def __init__(
        self, basis: str, choice: Choice, combine: Combine, ways: Mapping[str, Way], progress: Progress
    ) -> None:  # fmt: skip
        self.basis, self.choice, self.combine, self.ways, self.progress = basis, choice, combine, ways, progress

    async def all(
        self, steps: Sequence[float | None]
    ) -> tuple[Team, Clean, dict[tuple[float | None, str], Done]]:  # fmt: skip
        """The mutants, the model before, and what each way does at each distance."""
        self.progress.stage("making mutants", 1)
        (team, clean) = await together([self._team(), self._clean()])
        assert isinstance(team, Team)
        assert isinstance(clean, Clean)
        self.progress.stage("attacking", len(steps) * len(self.ways))
        each = [(far, name) for far in steps for name in self.ways]
        done = await together(self._attacked(far, name, team) for far, name in each)
        return team, clean, dict(zip(each, done, strict=True))

    async def _team(self) -> Team | Clean:
        if not self.choice.count:
            return Team((), np.ones((1, 1)), False)
        first = next(iter(self.ways.values())).attack
        decides = [code_of(self.choice), code_of(first), self.combine]
        found: Team = await ask(Job("mutants", decides, self.basis, f"{self.choice.count} mutants"))
        self.progress.step()
        return found

    async def _clean(self) -> Team | Clean:
        first = next(iter(self.ways.values())).attack
        found: Clean = await ask(Job("clean", [code_of(first)], self.basis, "the model before"))
        return found

    async def _attacked(self, eps: float | None, name: str, team: Team) -> Done:
        one = self.ways[name]
        members, joined = (team.members, team.joined) if one.mutants else ((), False)
        made = [[each.code, each.ratio, each.number] for each in members]
        decides = [code_of(one.attack), eps, made, joined, self.combine if members else None]
        where = "" if eps is None else f" at {eps:g}"
        task = Job("attack", decides, self.basis, f"{name}{where}", given=(name, eps, members, joined))
        found: Done = await ask(task)
        self.progress.step()
        return found
