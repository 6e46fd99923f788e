"""Caveats of an assessment, one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.results import AssessedSubject
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.notice import Notice, ReferenceRecord
from mutiny.verbs.assess.reference import PRECISE

FEW_TO_SCALE = 200
"""Fewer reference inputs than this get a note if they only have to tell the scale of costs."""


def notes(subject: AssessedSubject, notice: Notice, search: FaultSearch) -> Iterator[str]:
    """Caveats of the result."""
    reference, runner = notice.reference, search.runner
    if reference.kind == "none":
        yield (
            "There is no notice rate: the subject has no inputs besides the test set, so what a fault costs cannot be "
            "measured independently. Give the subject validation=(inputs, targets), or its training set."
        )
    if reference.memorized:
        better = f"on which the originals are {reference.memorized:.3g} {notice.unit} better than on test inputs"
        if search.unit.relative:
            better = f"on which the {runner.task.metric} is lower than on test inputs, where it is "
            better += f"{reference.memorized:.3g}% higher"
        yield (
            f"Costs are {notice.unit} on training inputs, {better}. The same fault may cost more or less on new "
            "inputs, so the notice rate may be too low or too high. Give the subject validation=(inputs, targets)."
        )
    if subject.originals == 1:
        yield (
            "One original: rate and interval are about this network only. More originals, trained with other seeds, "
            "would tell how much the rate depends on the luck of training."
        )
    if reference.kind != "none" and reference.inputs < (PRECISE if reference.scale is None else FEW_TO_SCALE):
        yield _measured(reference, search)
    if isinstance(runner.task, Classification):
        labels = runner.labels(TEST)
        missing = sorted(set(range(runner.task.classes)) - set(labels.tolist())) if labels is not None else []
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            yield f"The test set has no input of class {', '.join(map(str, missing[:5]))}{more}."
    empty = [f"{each.low:g} to {each.high:g}" for each in notice.bins if not each.faults]
    if empty and notice.rate is not None:
        yield f"No fault costs {' or '.join(empty)} {notice.unit}; the rate is the mean of the other bins."
    unseen = runner.views[0].unseen
    if unseen:
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        yield f"No operator changes {', '.join(unseen[:3])}{more}: the forward pass does not use them in a known way."


def _measured(reference: ReferenceRecord, search: FaultSearch) -> str:
    """How costs were measured if there are few reference inputs."""
    if reference.scale is not None:
        return (
            f"Costs were measured on {reference.trained_inputs:,} training inputs, and scaled by a ratio that only "
            f"{reference.inputs} other inputs tell. More of them make costs more precise."
        )
    more = f"{PRECISE:,} validation inputs" + (", or the training set as well" if reference.kind != "train" else "")
    if search.unit.relative:
        return f"Costs were measured on {reference.inputs} inputs only. Give {more}."
    error = 100 * (0.013 / reference.inputs) ** 0.5
    return (
        f"Costs were measured on {reference.inputs} inputs, so that a cost of one point is known to within about "
        f"{error:.1f} points. That makes the rate too low, by up to ten points: give {more}."
    )
