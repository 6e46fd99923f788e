"""Makes the result of `strengthen`, with its notes, from what the jobs found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from mutiny.campaigns.session import Session
from mutiny.core.records import FaultRecord
from mutiny.core.results import PoolRecord, StrengthenedSubject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.tasks import task_record
from mutiny.verbs.assess.distinct_tests import DistinctTests
from mutiny.verbs.assess.fault_search import TEST
from mutiny.verbs.assess.notes import notes_on_inputs
from mutiny.verbs.assess.notice import GroupRate
from mutiny.verbs.strengthen.context import POOL, StrengthenContext
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.plan import StrengthenFindings
from mutiny.verbs.strengthen.proposal import Proposal
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.starting_point import StartingPoint
from mutiny.verbs.strengthen.subset import Subset
from mutiny.verbs.strengthen.synthesis import Candidates


def strengthening_of(
    session: Session,
    context: StrengthenContext,
    start: StartingPoint,
    options: StrengthenOptions,
    findings: StrengthenFindings,
) -> Strengthening:
    """The result.

    Args:
        session: Call of the verb.
        context: Originals, reference set, test set and pool.
        start: Assessment to start from.
        options: Options.
        findings: What the jobs found.
    """
    proposal, given, runner, notice = findings.proposal, session.given, context.search.runner, start.assessment.notice
    return Strengthening(
        subject=StrengthenedSubject(
            name=given.name,
            model=type(context.evidence.model).__name__,
            originals=len(context.evidence.models),
            task=task_record(context.task),
            test=len(runner.splits[TEST]),
            pool=PoolRecord(len(given.data), given.source, context.labels is not None)
            if POOL in runner.splits
            else None,
        ),
        settings={
            **session.settings,
            "budget": list(options.budgets),
            "seeds": start.seeds if options.seeds is None else options.seeds,
            "minimize": options.minimize,
            "tolerance": options.tolerance,
            "synthesize": options.synthesize,
            "operators": [*start.operators],
            "methods": list(options.methods),
            "tie_break": options.tie_break_name,
            "assessment": {
                name: start.assessment.settings[name] for name in ("method", "seed", "operators", "alpha", "seeds")
            },
        },
        notice=GroupRate(notice.rate, notice.interval, notice.bins),
        unit=notice.unit,
        budgets=() if proposal is None else options.budgets,
        order=np.zeros(0, np.int64) if proposal is None else proposal.order,
        useful=0 if proposal is None else proposal.useful,
        predicted=findings.predicted,
        beyond=() if proposal is None else proposal.beyond,
        candidates=findings.candidates,
        before=findings.before,
        measured=findings.measured,
        subset=None if findings.subset is None else _in_test_set(findings.subset, context.search.distinct),
        smaller=findings.smaller,
        notes=tuple(_notes(session, context, start, options, findings)),
        names=given.data.names,
        **session.stamp(),
    )


def _in_test_set(subset: Subset, distinct: DistinctTests | None) -> Subset:
    """The same part of the test set, with positions in the whole of it."""
    if distinct is None:
        return subset
    return replace(subset, indices=distinct.positions[subset.indices], of=distinct.size)


def _notes(
    session: Session,
    context: StrengthenContext,
    start: StartingPoint,
    options: StrengthenOptions,
    findings: StrengthenFindings,
) -> Iterator[str]:
    """Caveats of the result, one sentence each."""
    data, proposal, labeled = session.given.data, findings.proposal, context.labels is not None
    missing = unknown(data.targets, context.task)
    yield from notes_on_inputs(context.search)
    yield from _notes_on_faults(start)
    if options.new.tests:
        yield f"{options.new.tests:,} inputs of the pool are already in the test set and are not proposed."
    if options.new.copies:
        copies = f"{options.new.copies:,} inputs of the pool are copies of others in it"
        yield f"{copies}; only the first of equal inputs is proposed."
    if proposal is not None:
        yield from _notes_on_proposal(proposal, options.budgets[-1], options.tie_break_name)
        if not labeled:
            known = f"{missing:,} labels of the pool are" if missing < len(data) else "The labels of the pool are"
            yield (
                f"{known} unknown, so the choice was not measured. Label the chosen inputs, add them to the test set, "
                "and assess again."
            )
        yield from _notes_on_candidates(
            proposal.beyond, findings.candidates, findings.refusal, bool(options.synthesize)
        )
    if context.search.reference.kind in ("pool", "unlabeled") and proposal is not None:
        yield (
            "Inputs are chosen from the pool that also measures what faults cost. Give the subject "
            "validation=(inputs, targets) to keep the two apart."
        )
    yield from _notes_on_measures(context, start, findings, proposal is not None or options.minimize)


def _notes_on_faults(start: StartingPoint) -> Iterator[str]:
    """Notes on the faults of the assessment."""
    notice = start.assessment.notice
    if notice.rate is None:
        yield "No fault has a cost in the range that counts, so there is nothing that the tests are known to miss."
    elif not any(not fault.noticed for fault in start.faults if fault.cost >= notice.bins[0].low):
        yield "The test set notices every fault of the assessment that costs enough to count."
    if start.originals == 1:
        yield (
            "One original: the choice and its notice rate hold for this network and its faults only, and labels are "
            "predicted by this network alone."
        )
    if notice.reference.memorized:
        yield (
            f"Costs are {notice.unit} on training inputs, which the originals have memorized. Give the subject "
            "validation=(inputs, targets)."
        )


def _notes_on_proposal(proposal: Proposal, budget: int, tie_break: str) -> Iterator[str]:
    """Notes on inputs that another method chose."""
    if proposal.useful == budget:
        return
    some = f"Only the first {proposal.useful:,} of {budget:,} inputs are" if proposal.useful else "No input is"
    rest = "the rest" if proposal.useful else f"all {budget:,} inputs"
    yield f"{some} predicted to raise the notice rate; {tie_break} chose {rest}."


def _notes_on_candidates(
    beyond: Sequence[FaultRecord], candidates: Candidates | None, refusal: str, wanted: bool
) -> Iterator[str]:
    """Notes on faults that no pool input reveals."""
    if not beyond:
        return
    single = len(beyond) == 1
    missed = "1 missed fault" if single else f"{len(beyond):,} missed faults"
    yield f"{missed} probably cannot be noticed with this pool and budget."
    if not wanted:
        return
    if refusal:
        yield f"No inputs were synthesized for {'it' if single else 'them'}: {refusal}."
    elif candidates is None:
        yield f"No input near the pool was found that tells {'it' if single else 'them'} from the originals."


def _notes_on_measures(
    context: StrengthenContext, start: StartingPoint, findings: StrengthenFindings, wanted: bool
) -> Iterator[str]:
    """Notes on methods that do not apply, and on held-out faults."""
    for name, reason in findings.skipped.items():
        yield f"{name} is left out: {reason}."
    repeated = [label for label, operator in start.operators.items() if not context.renews(operator)]
    if repeated and wanted:
        yield (
            f"Faults of {', '.join(repeated)} are not held out: there are so few that other seeds would make the same "
            "ones for which inputs were chosen."
        )
    if wanted and findings.before is None:
        yield "Nothing could be measured: no held-out fault has a cost in the range that counts. More seeds may help."
    elif findings.before is not None and findings.before.interval is None:
        yield "All held-out faults are of one random choice, so there are no intervals. Use more seeds."
