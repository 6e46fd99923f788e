"""Notes of a result of `strengthen`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.kill_table import Key
from mutiny.verbs.strengthen.mutant_pool import KillableRange
from mutiny.verbs.strengthen.proposing import Proposal
from mutiny.verbs.strengthen.synthesis import Candidates


def notes_on_mutants(result: Assessment, found: Sequence[KillableRange], left: Sequence[Key]) -> Iterator[str]:
    """Notes on the mutants of the assessment."""
    if not found:
        yield (
            "The training set kills no mutant of any operator on trained models, so there is nothing that the tests "
            "are known to miss. Try other operators or a larger training set."
        )
    elif not left:
        yield (
            "Nothing slips through: the test set kills every mutant that the training set kills and on which the test "
            "set gives a stable verdict."
        )
    if result.subject.originals == 1:
        yield (
            "One original: the choice and its score hold for this network and its mutants only, and labels are "
            "predicted by this network alone."
        )
    known = {killable.label for killable in found}
    others = [record.label for record in result.operators if record.score is not None and record.label not in known]
    if others:
        yield f"No inputs are chosen for {', '.join(others)}: operators before training are only assessed."


def notes_on_pool(
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


def notes_on_judges(repeated: Sequence[str]) -> Iterator[str]:
    """Note on operators whose mutants are the same with every seed."""
    if repeated:
        yield (
            f"Mutants of {', '.join(repeated)} judge nothing: there are so few that held-out mutants would be the same "
            "ones for which inputs were chosen."
        )


def notes_on_measures(repeats: int, valid: int, skipped: Mapping[str, str]) -> Iterator[str]:
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


def notes_on_candidates(beyond: Sequence[Key], made: Candidates | None, reason: str, wanted: bool) -> Iterator[str]:
    """Notes on mutants that the pool cannot kill."""
    if not beyond:
        return
    one = len(beyond) == 1
    yield f"{len(beyond)} survivor{'s' * (not one)} probably cannot be killed with this pool and budget."
    if not wanted:
        return
    if reason:
        yield f"No inputs were synthesized for {'it' if one else 'them'}: {reason}."
    elif made is None:
        yield f"No input near the pool was found that tells {'it' if one else 'them'} from the originals."
