"""What a careful reader should know about a test set that was strengthened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import KillableRange
from mutiny.verbs.strengthen.proposing import Proposal
from mutiny.verbs.strengthen.synthesis import Candidates


def notes_on_mutants(result: Assessment, found: Sequence[KillableRange], left: Sequence[Key]) -> Iterator[str]:
    """About what there is to notice."""
    if not found:
        yield (
            "No operator on trained models has a mutant that the training set kills, so nothing is known that tests "
            "should notice: other operators or a larger training set may help."
        )
    elif not left:
        yield (
            "Nothing slips through: of the mutants tried that the training set kills, the test set kills all on which "
            "it has a verdict."
        )
    if result.subject.originals == 1:
        yield (
            "One original: what is chosen and measured speaks of this network and its mutants only, and what the label "
            "may be is its own belief."
        )
    known = {one.label for one in found}
    others = [one.label for one in result.operators if one.score is not None and one.label not in known]
    if others:
        yield f"{', '.join(others)} left out: faults before training are assessed, but no inputs are chosen for them."


def notes_on_pool(
    proposal: Proposal | None, budget: int, tie_break: str, labelled: bool, missing: int, twins: int, copies: int
) -> Iterator[str]:
    """About the pool and what was chosen.

    Args:
        proposal: what to label, if something is.
        budget: the largest.
        tie_break: the method that fills the budget.
        labelled: whether all labels are known.
        missing: how many are not, if some are.
        twins: inputs of the pool that are in the test set.
        copies: inputs of the pool that equal one before them.
    """
    if twins:
        yield f"{twins:,} inputs of the pool are in the test set already, and are not proposed."
    if copies:
        yield f"{copies:,} inputs of the pool are copies of others in it; of equal ones only the first is proposed."
    if proposal is None:
        return
    if proposal.useful < budget:
        which = f"only the first {proposal.useful:,}" if proposal.useful else "none"
        yield (
            f"Of {budget:,} inputs {which} bring{'s' * (not proposal.useful)} mutants nearer to being killed, as far "
            f"as can be predicted; the rest is what {tie_break} says."
        )
    if not labelled:
        known = f"{missing:,} labels of the pool are" if missing else "The labels of the pool are"
        yield (
            f"{known} not known, so what the choice is worth was not measured. Label it, add it to the test set, and "
            "assess again."
        )


def notes_on_judges(repeated: Sequence[str]) -> Iterator[str]:
    """About operators whose mutants of another seed are the same ones."""
    if repeated:
        yield (
            f"Mutants of {', '.join(repeated)} judge nothing: there are only a few, so that fresh ones would be "
            "the very ones for which inputs were chosen."
        )


def notes_on_measures(repeats: int, valid: int, skipped: Mapping[str, str]) -> Iterator[str]:
    """About methods that do not apply, and what was measured, ``valid`` times of ``repeats``."""
    for name, reason in skipped.items():
        yield f"{name} is left out: {reason}."
    if repeats and not valid:
        yield (
            "Nothing could be measured: the training set kills no mutant of a fresh seed. More mutants, repeats or "
            "originals may help."
        )
        return
    if valid == 1:
        yield "Measured once, so there are no intervals: more repeats would give them."
    if valid < repeats:
        yield f"In {repeats - valid} of {repeats} repeats the training set killed no fresh mutant; these do not count."


def notes_on_candidates(beyond: Sequence[Key], made: Candidates | None, reason: str, wanted: bool) -> Iterator[str]:
    """About mutants that the pool cannot kill."""
    if not beyond:
        return
    one = len(beyond) == 1
    yield f"{len(beyond)} survivor{'s' * (not one)} cannot be killed with this pool and budget, as far as predicted."
    if not wanted:
        return
    if reason:
        yield f"No inputs were synthesized for {'it' if one else 'them'}: {reason}."
    elif made is None:
        yield f"No input near the pool's was found that tells {'it' if one else 'them'} from the originals."
