"""The plan of `strengthen`: faults are tried on test set and pool, inputs are chosen, held-out faults measure them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np

from mutiny.campaigns.memo import code_of
from mutiny.campaigns.schedule import Plan, ask, together
from mutiny.campaigns.session import Session
from mutiny.core.json_values import hash_of, to_plain
from mutiny.core.records import FaultRecord
from mutiny.verbs.assess.fault_search import TEST
from mutiny.verbs.select.ranking import Ranked, Refused
from mutiny.verbs.strengthen.context import POOL, StrengthenContext, TriedFault
from mutiny.verbs.strengthen.fault_table import FaultTable
from mutiny.verbs.strengthen.held_out import OWN, RANDOM, HeldOutRate, LabelGain, label_gains, rate_of
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.proposal import Proposal, counts, predicted_rates, propose
from mutiny.verbs.strengthen.starting_point import StartingPoint
from mutiny.verbs.strengthen.subset import Subset, SubsetRates, held_out_rates, smallest_subset
from mutiny.verbs.strengthen.synthesis import Candidates


@dataclass(frozen=True, eq=False)
class StrengthenFindings:
    """What the jobs of `strengthen` found.

    Attributes:
        proposal: Inputs to label; ``None`` without missed faults or without a pool.
        predicted: Predicted notice rates on held-out faults, by budget.
        candidates: Synthesized inputs for faults that no pool input reveals.
        refusal: Reason why inputs of this kind cannot be synthesized; empty if they can.
        before: Notice rate of the test set on held-out faults; ``None`` if there are none.
        measured: Notice rates after labeling.
        skipped: Methods that do not apply, with the reason.
        subset: Smaller test set, if it was asked for.
        smaller: Its notice rates on held-out faults.
    """

    proposal: Proposal | None = None
    predicted: Mapping[int, float] = field(default_factory=dict)
    candidates: Candidates | None = None
    refusal: str = ""
    before: HeldOutRate | None = None
    measured: tuple[LabelGain, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    subset: Subset | None = None
    smaller: SubsetRates | None = None


@dataclass(frozen=True)
class StrengthenPlan:
    """Asks for all jobs of `strengthen`.

    Attributes:
        session: Call of the verb.
        start: Assessment to start from.
        options: Options.
        context: Originals, reference set, test set and pool.
    """

    session: Session
    start: StartingPoint
    options: StrengthenOptions
    context: StrengthenContext

    async def run(self) -> StrengthenFindings:
        """Tries all faults, then chooses and measures."""
        options, choosing = self.options, self.choosing
        names = [name for name in options.selectors if name != RANDOM or name == options.tie_break_name]
        *tried, ranked = await together(
            [
                _all(self._again(records) for records in self.groups),
                _all(self._found(*job) for job in self.held_out),
                _all(self._found(*job) for job in self.fresh),
                _all(self._ranked(name) for name in names if choosing),
            ]
        )
        faults, held_out, fresh = ([fault for group in groups for fault in group] for groups in tried)
        table = self._table(held_out, pool=True)
        findings = StrengthenFindings(before=rate_of(table, np.arange(self.tests)) if len(table) else None)
        if choosing:
            findings = await self._chosen(findings, faults, held_out, table, dict(zip(names, ranked, strict=True)))
        if not options.minimize:
            return findings
        subset = smallest_subset(self._table(faults), self._table(fresh), options.tolerance, options.seed)
        if subset is None or not len(table):
            return replace(findings, subset=subset)
        return replace(findings, subset=subset, smaller=held_out_rates(self._table(held_out), subset, options.seed))

    async def _chosen(
        self,
        findings: StrengthenFindings,
        faults: Sequence[TriedFault],
        held_out: Sequence[TriedFault],
        table: FaultTable,
        ranked: Mapping[str, Ranked | Refused],
    ) -> StrengthenFindings:
        """Adds the proposal, and its measurement if the labels of the pool are known."""
        options, search, new = self.options, self.context.search, self.options.new.indices
        skipped = {name: each.reason.rstrip(".") for name, each in ranked.items() if isinstance(each, Refused)}
        orders = {
            name: each.order[np.isin(each.order, new)] for name, each in ranked.items() if isinstance(each, Ranked)
        }
        refused = ranked[options.tie_break_name]
        if isinstance(refused, Refused):
            raise refused.error(options.tie_break_name)
        scale = search.unit, search.alpha
        proposal = propose(faults, orders[options.tie_break_name], options.budgets[-1], *scale)
        predicted = predicted_rates(held_out or faults, proposal.order, options.budgets, *scale)
        findings = replace(findings, proposal=proposal, predicted=predicted, skipped=skipped)
        if proposal.beyond and options.synthesize:
            candidates, refusal = await self._synthesized(proposal.beyond)
            findings = replace(findings, candidates=candidates, refusal=refusal)
        if self.context.labels is None or not len(table):
            return findings
        orders |= {OWN: proposal.order, RANDOM: new}
        compared = {name: orders[name] for name in (OWN, *options.methods) if name in orders}
        measured = label_gains(table, self.tests, compared, new, options.budgets, options.seed)
        return replace(findings, measured=tuple(measured))

    @property
    def tests(self) -> int:
        """Number of test inputs."""
        return len(self.context.search.runner.splits[TEST])

    @property
    def choosing(self) -> bool:
        """Whether inputs are chosen: if there is a pool, and some fault is missed."""
        missed = (counts(fault, self.context.search.unit) and not fault.noticed for fault in self.start.faults)
        return bool(self.options.budgets) and any(missed)

    @property
    def groups(self) -> list[list[FaultRecord]]:
        """Faults of the assessment that count, those of one operator, original and seed together."""
        wanted = [fault for fault in self.start.faults if counts(fault, self.context.search.unit)]
        wanted = wanted if self.choosing or self.options.minimize else []
        return [list(group) for _, group in groupby(wanted, lambda fault: (fault.operator, fault.original, fault.seed))]

    @property
    def held_out(self) -> list[tuple[str, int, int]]:
        """Operator, original and seed of the held-out faults; none if there is nothing to measure or predict."""
        return self._others(1) if self.choosing or self.options.minimize else []

    @property
    def fresh(self) -> list[tuple[str, int, int]]:
        """The same of further faults, which a smaller test set must notice too."""
        return self._others(2) if self.options.minimize else []

    def _others(self, number: int) -> list[tuple[str, int, int]]:
        """Faults of other seeds than those of the assessment; none of operators that would only repeat themselves."""
        seeds = self.start.seeds if self.options.seeds is None else self.options.seeds
        first = self.start.seeds + (number - 1) * seeds
        return [
            (label, original, seed)
            for label, operator in self.start.operators.items()
            if self.context.renews(operator)
            for original in range(self.start.originals)
            for seed in range(first, first + seeds)
        ]

    def _table(self, faults: Sequence[TriedFault], pool: bool = False) -> FaultTable:
        search = self.context.search
        size = len(search.runner.splits[POOL]) if pool and self.context.labels is not None else 0
        return FaultTable.of(faults, self.tests, size, search.unit, search.alpha)

    async def _again(self, records: Sequence[FaultRecord]) -> list[TriedFault]:
        first = records[0]
        return await self._faults("again", [first.operator, first.original, first.seed], "tries", records)

    async def _found(self, label: str, original: int, seed: int) -> list[TriedFault]:
        return await self._faults("find", [label, original, seed], "finds other faults of", None)

    async def _faults(self, kind: str, arguments: list[str | int], verb: str, given: object) -> list[TriedFault]:
        name = f"{verb} {arguments[0]} on original {int(arguments[1]) + 1}, seed {arguments[2]}"
        faults: list[TriedFault] = await ask(self.session.job(kind, arguments, name, given))
        self.session.progress.step(name)
        return faults

    async def _ranked(self, name: str) -> Ranked | Refused:
        seed = self.options.seed
        arguments = [code_of(self.options.selectors[name]), seed, None]
        ranking: Ranked | Refused = await ask(self.session.job("rank", arguments, name, (name, seed)))
        self.session.progress.step(name)
        return ranking

    async def _synthesized(self, faults: Sequence[FaultRecord]) -> tuple[Candidates | None, str]:
        """Synthesized inputs for faults that no pool input reveals, or the reason why there are none."""
        most, allowed = self.options.synthesize, self.options.new.indices
        arguments = [to_plain(faults), most, hash_of(allowed.tolist())]
        answer: Candidates | Refused | None = await ask(
            self.session.job("synthesize", arguments, "synthesizes inputs", (faults, most, allowed))
        )
        return (None, answer.reason) if isinstance(answer, Refused) else (answer, "")

    def steps(self) -> int:
        """Largest number of jobs."""
        ranks = (len(self.options.selectors) + 1) * self.choosing
        return len(self.groups) + len(self.held_out) + len(self.fresh) + ranks


async def _all(plans: Iterable[Plan[Any]]) -> list[Any]:
    return await together(plans)
