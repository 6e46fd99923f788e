"""The plan of `strengthen`: rankings of the pool, choices, and their score on held-out mutants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mutiny.campaigns.memo import code_of
from mutiny.campaigns.schedule import ask, together
from mutiny.campaigns.session import Session
from mutiny.core.json_values import hash_of
from mutiny.core.random import generator_for, seed_for
from mutiny.verbs.select.ranking import Ranked, Refused
from mutiny.verbs.strengthen.answers import Ints
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.held_out_scores import BEFORE, OWN, Killed, Scores, name_of, scores_of
from mutiny.verbs.strengthen.kill_table import Key, KillTable, MutantRow
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.proposal import Proposal
from mutiny.verbs.strengthen.starting_point import StartingPoint, spread
from mutiny.verbs.strengthen.subset import Subset, smallest_subset
from mutiny.verbs.strengthen.synthesis import Candidates


@dataclass(frozen=True, eq=False)
class StrengthenFindings:
    """Values that the jobs of `strengthen` returned.

    Attributes:
        proposal: Inputs to label; ``None`` without survivors or without a pool.
        candidates: Synthesized inputs for mutants that the pool cannot kill.
        refusal: Reason why inputs of this kind cannot be synthesized; empty if they can.
        repeats: Number of repeats.
        trials: Scores of the repeats in which some mutant is killable.
        skipped: Methods that do not apply, with the reason.
        subset: Smallest part of the test set, if it was asked for.
    """

    proposal: Proposal | None
    candidates: Candidates | None
    refusal: str
    repeats: int
    trials: tuple[Scores, ...]
    skipped: Mapping[str, str]
    subset: Subset | None


DRAWN = 0.8
"""Share of the pool from which each repeat chooses, so that intervals cover the randomness of the pool."""
FRESH_SEEDS = 3
"""Additional seeds of mutants whose kills a smaller test set must keep; with one seed alone it would overfit."""
SUBSET, RANDOM_SUBSET = "subset", "random subset"
Mutants = Sequence[tuple[int, float | None]]
"""Mutants by the number of their operator, and strength."""


@dataclass(frozen=True)
class StrengthenPlan:
    """Asks for all jobs of `strengthen`.

    Attributes:
        session: Call of the verb.
        start: Assessment to start from.
        options: Options.
        tests: Number of inputs of the test set.
        judges: Numbers of the operators that judge: those whose mutants of another seed differ from the ones that
            inputs were chosen for.
    """

    session: Session
    start: StartingPoint
    options: StrengthenOptions
    tests: int
    judges: tuple[int, ...]

    async def subset(self, context: StrengthenContext) -> Subset:
        """The smallest part of the test set; runs the assessment's mutants again if it did not keep all answers."""
        assessment = self.start.assessment
        labels = [killable.label for killable in self.start.ranges]
        records = [record for record in assessment.operators if record.label in labels]
        kept = self.start.is_exact and context.is_classifier  # then the assessment has all answers
        rows = await self._table(None if kept else self.start.tested())
        known = KillTable.of(replace(assessment, operators=tuple(records))).rows if kept else ()
        return smallest_subset(context.table([*known, *rows]), self.seed, records)

    @property
    def seed(self) -> int:
        """Seed of the call, which need not be that of the assessment."""
        return self.options.seed

    async def _table(self, mutants: Mapping[int, Sequence[float | None]] | None) -> list[MutantRow]:
        """Mutants on every input of the test set: the given ones of the assessment, and some of other seeds."""
        spread = {number: killable.strengths(self.options.mutants) for number, killable in enumerate(self.start.ranges)}
        seeds = [seed_for(self.seed, "strengthen", SUBSET, number) for number in range(FRESH_SEEDS)]
        assessed = [] if mutants is None else [self._rows(self.start.seed, mutants)]
        groups = await together([*assessed, *(self._rows(seed, spread) for seed in seeds)])
        fresh = [replace(row, fresh=True) for rows in groups[len(assessed) :] for row in rows]
        return [*(row for rows in groups[: len(assessed)] for row in rows), *fresh]

    async def _rows(self, seed: int, mutants: Mapping[int, Sequence[float | None]]) -> list[MutantRow]:
        """Mutants of one seed, one job per operator."""

        async def of_operator(number: int, strengths: Sequence[float | None]) -> list[MutantRow]:
            label, given = self.start.ranges[number].label, (seed, number, strengths)
            job = self.session.job("table", [label, seed, list(strengths)], f"{label} on test", given)
            rows: list[MutantRow] = await ask(job)
            self.session.progress.step(label)
            return rows

        groups = await together(of_operator(number, strengths) for number, strengths in mutants.items())
        return [row for rows in groups for row in rows]

    async def all(self, subset: Subset | None, labeled: bool) -> StrengthenFindings:
        """The proposal, and its measurement.

        Args:
            subset: Part of the test set to judge, if any.
            labeled: Whether the labels of the pool are known.
        """
        proposal, candidates, refusal, skipped = None, None, "", dict[str, str]()
        survivors, rivals = [*spread(self.start.survivors, self.options.mutants)], self.options.methods
        tie_break = self.options.tie_break_name
        if survivors and self.options.budgets:
            names = [*self.options.selectors]
            orders = dict(zip(names, await together(self._ranked(name, self.seed, "") for name in names), strict=True))
            skipped = {name: order.reason.rstrip(".") for name, order in orders.items() if isinstance(order, Refused)}
            rest = orders[tie_break]
            if isinstance(rest, Refused):
                raise rest.error(tie_break)
            proposal = await self._proposal(survivors, rest)
            if proposal.beyond and self.options.synthesize:
                candidates, refusal = await self._synthesized(proposal.beyond)
        methods = [OWN, *(name for name in rivals if name not in skipped)] if proposal is not None and labeled else []
        repeats = self.options.repeats if self.judges and (methods or subset is not None) else 0
        part = None if subset is None else subset.indices
        trials = await together(self._trial(repeat, methods, part) for repeat in range(repeats))
        valid = tuple(trial for trial in trials if trial is not None)
        return StrengthenFindings(proposal, candidates, refusal, repeats, valid, skipped, subset)

    async def _proposal(self, survivors: Sequence[Key], rest: Ints) -> Proposal:
        """Inputs to label for mutants of the assessment: survivors, and others spread over the killable strengths."""
        numbers = {killable.label: number for number, killable in enumerate(self.start.ranges)}
        wanted = [(numbers[label], strength) for label, strength in survivors]
        mutants = [*dict.fromkeys([*wanted, *self._spread()])]
        order = rest[np.isin(rest, self.options.new.indices)]
        return await self._choice(self.start.seed, mutants, order, list(survivors), "chooses")

    async def _synthesized(self, mutants: Sequence[Key]) -> tuple[Candidates | None, str]:
        """Synthesized inputs for mutants that the pool cannot kill, or the reason why there are none."""
        most, allowed = self.options.synthesize, self.options.new.indices
        arguments = [self.start.seed, [list(key) for key in mutants], most, hash_of(allowed.tolist())]
        given = (self.start.seed, mutants, most, allowed)
        answer: Candidates | Refused | None = await ask(
            self.session.job("synthesize", arguments, "synthesizes inputs", given)
        )
        return (None, answer.reason) if isinstance(answer, Refused) else (answer, "")

    async def _trial(self, repeat: int, methods: Sequence[str], subset: Ints | None) -> Scores | None:
        """One repeat, with one seed for the mutants to choose by and another for those that judge.

        ``None`` if the training set kills none of the judging mutants.
        """
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
                for budget in self.options.budgets
            }
        judge = seed_for(self.seed, "strengthen", "judge", repeat)
        killed = await together(self._judged(judge, number, sets, shown) for number in self.judges)
        return scores_of(killed)

    async def _orders(self, repeat: int, methods: Sequence[str], shown: str) -> dict[str, Ints]:
        """Inputs that each method would label in this repeat's part of the pool."""
        rng = generator_for(self.seed, "strengthen", "pool", repeat)
        candidates = self.options.new.indices
        size = max(1, round(DRAWN * len(candidates)))
        drawn = np.sort(rng.permutation(candidates)[:size])
        seed = seed_for(self.seed, "strengthen", "rank", repeat)
        names = [*dict.fromkeys([self.options.tie_break_name, *(name for name in methods if name != OWN)])]
        ranked = await together(self._ranked(name, seed, shown) for name in names)
        orders = {n: o[np.isin(o, drawn)] for n, o in zip(names, ranked, strict=True) if not isinstance(o, Refused)}
        chooser = seed_for(self.seed, "strengthen", "choose", repeat)
        choice = await self._choice(chooser, self._spread(), orders[self.options.tie_break_name], [], f"{shown}chooses")
        return {OWN: choice.order, **{name: orders[name] for name in methods if name in orders}}

    def _spread(self) -> list[tuple[int, float | None]]:
        count = self.options.mutants
        return [(number, strength) for number, r in enumerate(self.start.ranges) for strength in r.strengths(count)]

    async def _ranked(self, name: str, seed: int, shown: str) -> Ints | Refused:
        arguments = [code_of(self.options.selectors[name]), seed, None]
        ranking: Ranked | Refused = await ask(self.session.job("rank", arguments, f"{shown}{name}", (name, seed)))
        self.session.progress.step(name)
        return ranking if isinstance(ranking, Refused) else ranking.order

    async def _choice(self, seed: int, mutants: Mutants, rest: Ints, search: list[Key], shown: str) -> Proposal:
        budget = min(self.options.budgets[-1], len(rest))
        which: list[Any] = [[self.start.ranges[number].label, strength] for number, strength in mutants]
        arguments = [seed, which, hash_of(rest.tolist()), budget, [list(key) for key in search]]
        given = (seed, mutants, rest, budget, search)
        proposal: Proposal = await ask(self.session.job("choose", arguments, shown, given))
        self.session.progress.step(shown)
        return proposal

    async def _judged(self, seed: int, number: int, sets: Mapping[str, Ints], shown: str) -> Killed:
        label, count = self.start.ranges[number].label, self.options.mutants
        which = hash_of({name: chosen.tolist() for name, chosen in sets.items()})
        given = (number, seed, count, sets)
        killed: Killed = await ask(
            self.session.job("judge", [seed, label, count, which], f"{shown}{label} judges", given)
        )
        self.session.progress.step(label)
        return killed

    def steps(self, labeled: bool) -> int:
        """Largest number of jobs."""
        choosing = bool(self.start.survivors) and bool(self.options.budgets)
        rivals, minimize = len(self.options.methods), self.options.minimize
        once = (rivals + 2) * choosing + len(self.start.ranges) * (1 + FRESH_SEEDS) * minimize
        judging = len(self.judges) * ((choosing and labeled) or minimize)
        each = judging + (rivals + 2) * (choosing and labeled)
        return once + choosing + self.options.repeats * each * bool(self.judges)
