"""What strengthening asks for: rankings of the pool, choices, and their judgement by mutants that they do not know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mutiny.campaigns.jobs import Job
from mutiny.campaigns.schedule import ask, together
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress
from mutiny.core.random import generator_for, seed_for
from mutiny.verbs.select.ranking import Ranked, Refused
from mutiny.verbs.strengthen.answers import Ints
from mutiny.verbs.strengthen.kill_table import Key, Row
from mutiny.verbs.strengthen.measuring import BEFORE, OWN, Killed, Scores, name_of, scores_of
from mutiny.verbs.strengthen.mutant_pool import Range
from mutiny.verbs.strengthen.proposing import Proposal
from mutiny.verbs.strengthen.synthesis import Candidates


@dataclass(frozen=True, eq=False)
class Told:
    """All that was found out.

    Attributes:
        proposal: what to label; ``None`` if nothing is to be.
        made: new inputs for what the pool cannot kill.
        unmade: why there are none, if inputs of this kind cannot be made.
        repeats: how many there were.
        trials: scores of those in which mutants could be killed.
        skipped: methods that do not apply, and why.
    """

    proposal: Proposal | None
    made: Candidates | None
    unmade: str
    repeats: int
    trials: tuple[Scores, ...]
    skipped: Mapping[str, str]


DRAWN = 0.8
"""Share of the pool from which each repeat chooses, so that intervals tell of other pools like it."""
EMBODIMENTS = 3
"""Seeds of mutants, beside the assessment's, whose kills a smaller test set must keep: chosen for one seed alone, it
would know that seed by heart."""
SUBSET, RANDOM_SUBSET = "subset", "random subset"
Mutants = Sequence[tuple[int, float | None]]
"""By the number of their range, and strength."""


@dataclass(frozen=True)
class Plan:
    """Asks for everything.

    Attributes:
        basis: of all tasks.
        seed: of the call.
        own: seed of the assessment's mutants.
        ranges: operators.
        codes: what identifies the methods, by name.
        tie_break: the method that decides among equals and fills the budget.
        budgets: numbers of labels, rising.
        candidates: inputs of the pool that may be chosen.
        count: mutants of each operator for which, and by which, is chosen and judged.
        tests: inputs of the test set.
        judges: which of the operators judge: those whose fresh mutants are not the ones that were chosen for.
        progress: told what is done.
    """

    basis: str
    seed: int
    own: int
    ranges: tuple[Range, ...]
    codes: Mapping[str, str]
    tie_break: str
    budgets: tuple[int, ...]
    candidates: Ints
    count: int
    tests: int
    judges: tuple[int, ...]
    progress: Progress

    async def table(self, mutants: Mapping[int, Sequence[float | None]] | None) -> list[Row]:
        """Mutants on every input of the test set: the assessment's, unless they are known, and fresh ones."""
        spread = {number: one.strengths(self.count) for number, one in enumerate(self.ranges)}
        seeds = [seed_for(self.seed, "strengthen", SUBSET, number) for number in range(EMBODIMENTS)]
        own = [] if mutants is None else [self._rows(self.own, mutants)]
        each = await together([*own, *(self._rows(seed, spread) for seed in seeds)])
        fresh = [replace(row, fresh=True) for some in each[len(own) :] for row in some]
        return [*(row for some in each[: len(own)] for row in some), *fresh]

    async def _rows(self, seed: int, mutants: Mapping[int, Sequence[float | None]]) -> list[Row]:
        """Mutants of one seed, an operator at a time."""

        async def one(number: int, strengths: Sequence[float | None]) -> list[Row]:
            label = self.ranges[number].label
            task = Job("table", [label, seed, list(strengths)], self.basis, f"{label} on test",
                        given=(seed, number, strengths))  # fmt: skip
            found: list[Row] = await ask(task)
            self.progress.step(label)
            return found

        each = await together(one(number, strengths) for number, strengths in mutants.items())
        return [row for some in each for row in some]

    async def all(
        self,
        survivors: Sequence[Key],
        rivals: Sequence[str],
        repeats: int,
        subset: Ints | None,
        labelled: bool,
        most: int,
    ) -> Told:
        """The proposal, and its measurement.

        Args:
            survivors: for which inputs are chosen; without any, none are.
            rivals: methods to compare with.
            repeats: of the measurement.
            subset: of the test set, if it is to be judged.
            labelled: whether the labels of the pool are known.
            most: new inputs for survivors that the pool cannot kill.
        """
        proposal, made, unmade, skipped = None, None, "", dict[str, str]()
        if survivors and self.budgets:
            names = [*dict.fromkeys([self.tie_break, *rivals])]
            orders = dict(zip(names, await together(self._ranked(name, self.seed, "") for name in names), strict=True))
            skipped = {name: one.reason.rstrip(".") for name, one in orders.items() if isinstance(one, Refused)}
            rest = orders[self.tie_break]
            if isinstance(rest, Refused):
                raise rest.error(self.tie_break)
            proposal = await self._proposal(survivors, rest)
            if proposal.beyond and most:
                made, unmade = await self._made(proposal.beyond, most)
        who = [OWN, *(name for name in rivals if name not in skipped)] if proposal is not None and labelled else []
        again = range(repeats if self.judges and (who or subset is not None) else 0)
        trials = await together(self._trial(repeat, who, subset) for repeat in again)
        return Told(proposal, made, unmade, len(again), tuple(one for one in trials if one is not None), skipped)

    async def _proposal(self, survivors: Sequence[Key], rest: Ints) -> Proposal:
        """What to label for the assessment's own mutants: survivors, and others spread over the killable strengths."""
        numbers = {one.label: number for number, one in enumerate(self.ranges)}
        wanted = [(numbers[label], strength) for label, strength in survivors]
        mutants = [*dict.fromkeys([*wanted, *self._spread()])]
        order = rest[np.isin(rest, self.candidates)]
        return await self._choice(self.own, mutants, order, list(survivors), "chooses")

    async def _made(self, mutants: Sequence[Key], most: int) -> tuple[Candidates | None, str]:
        """New inputs for mutants that the pool cannot kill, or why there cannot be any."""
        arguments = [self.own, [list(key) for key in mutants], most, hash_of(self.candidates.tolist())]
        task = Job("synthesise", arguments, self.basis, "synthesises inputs",
                    given=(self.own, mutants, most, self.candidates))  # fmt: skip
        found: Candidates | Refused | None = await ask(task)
        return (None, found.reason) if isinstance(found, Refused) else (found, "")

    async def _trial(self, repeat: int, methods: Sequence[str], subset: Ints | None) -> Scores | None:
        """One repeat: other mutants choose, and others again judge; ``None`` if none of these can be killed."""
        shown, every = f"repeat {repeat + 1}: ", np.arange(self.tests)
        sets: dict[str, Ints] = {BEFORE: every}
        if subset is not None:
            rng = generator_for(self.seed, "strengthen", RANDOM_SUBSET, repeat)
            sets |= {SUBSET: subset, RANDOM_SUBSET: np.sort(rng.permutation(self.tests)[: len(subset)])}
        if methods:
            orders = await self._orders(repeat, methods, shown)
            sets |= {
                name_of(name, budget): np.concatenate([every, self.tests + order[:budget]])
                for name, order in orders.items()
                for budget in self.budgets
            }
        judge = seed_for(self.seed, "strengthen", "judge", repeat)
        killed = await together(self._judged(judge, number, sets, shown) for number in self.judges)
        return scores_of(killed)

    async def _orders(self, repeat: int, methods: Sequence[str], shown: str) -> dict[str, Ints]:
        """What each method would label in its part of the pool; the first is the tie-break."""
        rng = generator_for(self.seed, "strengthen", "pool", repeat)
        size = max(1, round(DRAWN * len(self.candidates)))
        drawn = np.sort(rng.permutation(self.candidates)[:size])
        own = seed_for(self.seed, "strengthen", "rank", repeat)
        names = [*dict.fromkeys([self.tie_break, *(name for name in methods if name != OWN)])]
        each = await together(self._ranked(name, own, shown) for name in names)
        orders = {n: o[np.isin(o, drawn)] for n, o in zip(names, each, strict=True) if not isinstance(o, Refused)}
        chooser = seed_for(self.seed, "strengthen", "choose", repeat)
        found = await self._choice(chooser, self._spread(), orders[self.tie_break], [], f"{shown}chooses")
        return {OWN: found.order, **{name: orders[name] for name in methods if name in orders}}

    def _spread(self) -> list[tuple[int, float | None]]:
        return [(n, strength) for n, one in enumerate(self.ranges) for strength in one.strengths(self.count)]

    async def _ranked(self, name: str, seed: int, shown: str) -> Ints | Refused:
        task = Job("rank", [self.codes[name], seed, None], self.basis, f"{shown}{name}", given=(name, seed))
        found: Ranked | Refused = await ask(task)
        self.progress.step(name)
        return found if isinstance(found, Refused) else found.order

    async def _choice(self, seed: int, mutants: Mutants, rest: Ints, search: list[Key], shown: str) -> Proposal:
        budget = min(self.budgets[-1], len(rest))
        which: list[Any] = [[self.ranges[number].label, strength] for number, strength in mutants]
        arguments = [seed, which, hash_of(rest.tolist()), budget, [list(key) for key in search]]
        task = Job("choose", arguments, self.basis, shown, given=(seed, mutants, rest, budget, search))
        found: Proposal = await ask(task)
        self.progress.step(shown)
        return found

    async def _judged(self, seed: int, number: int, sets: Mapping[str, Ints], shown: str) -> Killed:
        label = self.ranges[number].label
        which = hash_of({name: chosen.tolist() for name, chosen in sets.items()})
        task = Job("judge", [seed, label, self.count, which], self.basis, f"{shown}{label} judges",
                    given=(number, seed, self.count, sets))  # fmt: skip
        found: Killed = await ask(task)
        self.progress.step(label)
        return found

    def steps(self, choosing: bool, rivals: int, repeats: int, labelled: bool, minimise: bool) -> int:
        """How many tasks there are at most."""
        choosing = choosing and bool(self.budgets)
        once = (rivals + 2) * choosing + len(self.ranges) * (1 + EMBODIMENTS) * minimise
        judging = len(self.judges) * ((choosing and labelled) or minimise)
        each = judging + (rivals + 2) * (choosing and labelled)
        return once + choosing + repeats * each * bool(self.judges)
