"""Makes the result of `strengthen`, with its notes, from the values that the jobs returned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mutiny.campaigns.session import Session
from mutiny.core.results import PoolRecord, StrengthenedSubject
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.tasks import task_record
from mutiny.verbs.select.metrics import over_repeats
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.held_out_scores import BEFORE, OWN, Scores, gains
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import POOL
from mutiny.verbs.strengthen.options import StrengthenOptions
from mutiny.verbs.strengthen.plan import RANDOM_SUBSET, SUBSET, StrengthenFindings
from mutiny.verbs.strengthen.proposal import Proposal
from mutiny.verbs.strengthen.result import Strengthening, SubsetScores
from mutiny.verbs.strengthen.starting_point import StartingPoint
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
        context: Originals, test set and pool.
        start: Assessment to start from.
        options: Options.
        findings: Values that the jobs returned.
    """
    proposal, trials, given = findings.proposal, findings.trials, session.given
    labeled, budgets = context.labels is not None, options.budgets
    measured = bool(trials) and proposal is not None and labeled
    methods = [OWN, *(name for name in options.methods if name not in findings.skipped)]
    survivors, tried = start.survivors, () if proposal is None else proposal.mutants
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
        survivors=survivors,
        tried=tuple(key for key in survivors if key in tried),
        budgets=() if proposal is None else budgets,
        order=np.zeros(0, np.int64) if proposal is None else proposal.order,
        useful=0 if proposal is None else proposal.useful,
        predicted={} if proposal is None else {budget: proposal.predicted(budget, survivors) for budget in budgets},
        beyond=() if proposal is None else proposal.beyond,
        candidates=findings.candidates,
        before=over_repeats([trial[BEFORE] for trial in trials]) if measured else None,
        measured=tuple(gains(trials, methods, budgets)) if measured else (),
        subset=findings.subset,
        smaller=_smaller(trials) if findings.subset is not None and trials else None,
        notes=tuple(_notes(session, context, start, options, findings)),
        names=given.data.names,
        **session.stamp(),
    )


def _notes(
    session: Session,
    context: StrengthenContext,
    start: StartingPoint,
    options: StrengthenOptions,
    findings: StrengthenFindings,
) -> Iterator[str]:
    """Caveats of the result, one sentence each."""
    data, proposal = session.given.data, findings.proposal
    missing = unknown(data.targets, context.task)
    judges = context.judges(start.ranges)
    yield from _notes_on_mutants(start)
    yield from _notes_on_pool(
        proposal,
        options.budgets[-1] if options.budgets else 0,
        options.tie_break_name,
        context.labels is not None,
        missing if missing < len(data) else 0,
        options.new.tests,
        options.new.copies,
    )
    beyond = () if proposal is None else proposal.beyond
    yield from _notes_on_candidates(beyond, findings.candidates, findings.refusal, bool(options.synthesize))
    yield from _notes_on_judges(
        [operator.label for number, operator in enumerate(start.ranges) if number not in judges]
    )
    yield from _notes_on_measures(findings.repeats, len(findings.trials), findings.skipped)


def _smaller(trials: Sequence[Scores]) -> SubsetScores:
    each = {name: [trial[name] for trial in trials] for name in (BEFORE, SUBSET, RANDOM_SUBSET)}
    lost = [whole - part for whole, part in zip(each[BEFORE], each[SUBSET], strict=True)]
    return SubsetScores(*map(over_repeats, (*each.values(), lost)))


def _notes_on_mutants(start: StartingPoint) -> Iterator[str]:
    """Notes on the mutants of the assessment."""
    if not start.ranges:
        yield (
            "The training set kills no mutant of any operator on trained models, so there is nothing that the tests "
            "are known to miss. Try other operators or a larger training set."
        )
    elif not start.survivors:
        yield (
            "Nothing slips through: the test set kills every mutant that the training set kills and on which the test "
            "set gives a stable verdict."
        )
    if start.originals == 1:
        yield (
            "One original: the choice and its score hold for this network and its mutants only, and labels are "
            "predicted by this network alone."
        )
    known = {killable.label for killable in start.ranges}
    records = start.assessment.operators
    others = [record.label for record in records if record.score is not None and record.label not in known]
    if others:
        yield f"No inputs are chosen for {', '.join(others)}: operators before training are only assessed."


def _notes_on_pool(
    proposal: Proposal | None, budget: int, tie_break: str, labeled: bool, missing: int, twins: int, copies: int
) -> Iterator[str]:
    """Notes on the pool and the choice.

    Args:
        proposal: Inputs to label, if any.
        budget: Largest budget.
        tie_break: Method that fills the budget.
        labeled: Whether all labels are known.
        missing: Number of unknown labels, if some are known.
        twins: Number of inputs of the pool that are in the test set.
        copies: Number of inputs of the pool that equal an earlier one.
    """
    if twins:
        yield f"{twins:,} inputs of the pool are already in the test set and are not proposed."
    if copies:
        yield f"{copies:,} inputs of the pool are copies of others in it; only the first of equal inputs is proposed."
    if proposal is None:
        return
    if proposal.useful < budget:
        if proposal.useful:
            yield (
                f"Only the first {proposal.useful:,} of {budget:,} inputs are predicted to bring mutants nearer to "
                f"being killed; {tie_break} chose the rest."
            )
        else:
            yield (
                f"No input is predicted to bring mutants nearer to being killed; {tie_break} chose all {budget:,} "
                "inputs."
            )
    if not labeled:
        known = f"{missing:,} labels of the pool are" if missing else "The labels of the pool are"
        yield (
            f"{known} unknown, so the choice was not scored. Label the chosen inputs, add them to the test set, and "
            "assess again."
        )


def _notes_on_judges(repeated: Sequence[str]) -> Iterator[str]:
    """Note on operators whose mutants are the same with every seed."""
    if repeated:
        yield (
            f"Mutants of {', '.join(repeated)} judge nothing: there are so few that held-out mutants would be the same "
            "ones for which inputs were chosen."
        )


def _notes_on_measures(repeats: int, valid: int, skipped: Mapping[str, str]) -> Iterator[str]:
    """Notes on methods that do not apply, and on the ``valid`` repeats among ``repeats``."""
    for name, reason in skipped.items():
        yield f"{name} is left out: {reason}."
    if repeats and not valid:
        yield (
            "Nothing could be measured: the training set kills no held-out mutant. More mutants, repeats or originals "
            "may help."
        )
        return
    if valid == 1:
        yield "Measured once, so there are no intervals. Use more repeats."
    if valid < repeats:
        yield f"{repeats - valid} of {repeats} repeats do not count; the training set killed no held-out mutant."


def _notes_on_candidates(
    beyond: Sequence[Key], candidates: Candidates | None, refusal: str, wanted: bool
) -> Iterator[str]:
    """Notes on mutants that the pool cannot kill."""
    if not beyond:
        return
    single = len(beyond) == 1
    yield f"{len(beyond)} survivor{'s' * (not single)} probably cannot be killed with this pool and budget."
    if not wanted:
        return
    if refusal:
        yield f"No inputs were synthesized for {'it' if single else 'them'}: {refusal}."
    elif candidates is None:
        yield f"No input near the pool was found that tells {'it' if single else 'them'} from the originals."
