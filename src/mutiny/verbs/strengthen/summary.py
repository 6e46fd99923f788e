"""The result of `strengthen`, from what its plan found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mutiny.campaigns.session import Session
from mutiny.core.results import PoolRecord, StrengthenedSubject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.tasks import task_record
from mutiny.verbs.select.metrics import over_repeats
from mutiny.verbs.strengthen import notes
from mutiny.verbs.strengthen.arguments import StrengthenOptions
from mutiny.verbs.strengthen.assessed import StartingPoint
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.measuring import BEFORE, OWN, Scores, gains
from mutiny.verbs.strengthen.mutant_pool import POOL
from mutiny.verbs.strengthen.plan import RANDOM_SUBSET, SUBSET, StrengthenFindings
from mutiny.verbs.strengthen.result import Strengthening, SubsetScores


def strengthening_of(
    session: Session,
    context: StrengthenContext,
    start: StartingPoint,
    options: StrengthenOptions,
    told: StrengthenFindings,
) -> Strengthening:
    """The result.

    Args:
        session: Call of the verb.
        context: Originals, test set and pool.
        start: What is known from the assessment.
        options: What was asked for.
        told: What the plan found.
    """
    proposal, trials, given = told.proposal, told.trials, session.given
    labeled, budgets = context.labels is not None, options.budgets
    measured = bool(trials) and proposal is not None and labeled
    who = [OWN, *(name for name in options.methods if name not in told.skipped)]
    alive, tried = start.survivors, () if proposal is None else proposal.mutants
    return Strengthening(
        subject=StrengthenedSubject(
            name=given.name,
            model=type(context.evidence.model).__name__,
            originals=len(context.evidence.models),
            task=task_record(context.task),
            test=len(context.targets),
            pool=PoolRecord(len(given.data), given.source, labeled) if POOL in context.splits else None,
        ),
        settings={
            **session.settings,
            "budget": list(budgets),
            "repeats": options.repeats,
            "minimize": options.minimize,
            "synthesize": options.synthesize,
            "operators": [operator.label for operator in start.ranges],
            "methods": list(options.methods),
            "tie_break": options.tie_break_name,
            "assessment": {
                name: start.assessment.settings[name]
                for name in ("seed", "operators", "rule", "search", "weak", "screening")
            },
        },
        score=start.assessment.score,
        survivors=alive,
        tried=tuple(key for key in alive if key in tried),
        budgets=() if proposal is None else budgets,
        order=np.zeros(0, np.int64) if proposal is None else proposal.order,
        useful=0 if proposal is None else proposal.useful,
        predicted={} if proposal is None else {budget: proposal.predicted(budget, alive) for budget in budgets},
        beyond=() if proposal is None else proposal.beyond,
        candidates=told.made,
        before=over_repeats([trial[BEFORE] for trial in trials]) if measured else None,
        measured=tuple(gains(trials, who, budgets)) if measured else (),
        subset=told.subset,
        smaller=_smaller(trials) if told.subset is not None and trials else None,
        notes=tuple(_notes(session, context, start, options, told)),
        names=given.data.names,
        **session.stamp(),
    )


def _notes(
    session: Session,
    context: StrengthenContext,
    start: StartingPoint,
    options: StrengthenOptions,
    told: StrengthenFindings,
) -> Iterator[str]:
    """What a careful reader should know."""
    data, proposal = session.given.data, told.proposal
    missing = unknown(data.targets, context.task)
    judges = context.judges(start.ranges)
    yield from notes.notes_on_mutants(start.assessment, start.ranges, start.survivors)
    yield from notes.notes_on_pool(
        proposal,
        options.budgets[-1] if options.budgets else 0,
        options.tie_break_name,
        context.labels is not None,
        missing if missing < len(data) else 0,
        options.new.tests,
        options.new.copies,
    )
    beyond = () if proposal is None else proposal.beyond
    yield from notes.notes_on_candidates(beyond, told.made, told.unmade, bool(options.synthesize))
    yield from notes.notes_on_judges(
        [operator.label for number, operator in enumerate(start.ranges) if number not in judges]
    )
    yield from notes.notes_on_measures(told.repeats, len(told.trials), told.skipped)


def _smaller(trials: Sequence[Scores]) -> SubsetScores:
    each = {name: [trial[name] for trial in trials] for name in (BEFORE, SUBSET, RANDOM_SUBSET)}
    lost = [whole - part for whole, part in zip(each[BEFORE], each[SUBSET], strict=True)]
    return SubsetScores(*map(over_repeats, (*each.values(), lost)))
