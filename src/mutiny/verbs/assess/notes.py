"""Caveats of an assessment, one sentence each."""

from __future__ import annotations

import math
from collections.abc import Iterator

from mutiny.core.results import AssessedSubject
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.cost_unit import metric_of
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.notice import Notice, ReferenceRecord
from mutiny.verbs.assess.reference import FEWEST_HELD_OUT, PRECISE
from mutiny.verbs.assess.summary import CHOICES

FEW_TO_SCALE = 200
"""Fewer reference inputs than this get a note if they only scale the costs on training inputs."""
TOO_LOW = {400: (5, 20), 1000: (3, 10), PRECISE: (1, 5)}
"""Measured bias of the notice rate, in points too low, if costs are measured on fewer reference inputs than the key.

Noise moves faults into bins that are too high, where the test set misses them."""
OVERCONFIDENT = (7, 15)
"""The same with an unlabeled pool and one original, whose own probabilities make faults look too costly."""


def notes(subject: AssessedSubject, notice: Notice, search: FaultSearch) -> Iterator[str]:
    """Caveats of the result."""
    reference, runner, said = notice.reference, search.runner, CostPhrases(notice.unit)
    yield from notes_on_inputs(search)
    if notice.false_alarms is not None and notice.false_alarms.failed is not None:
        yield f"Not all harmless changes could be tried: {notice.false_alarms.failed}. The same call tries them again."
    if reference.kind == "none":
        yield (
            "There is no notice rate: the subject has no inputs besides the test set, so what a fault costs cannot be "
            "measured independently. Give the subject validation=(inputs, targets), its training set, or "
            f"{_pools(search)}."
        )
    if reference.memorized:
        yield (
            f"Costs are {notice.unit} on training inputs, and {said.worse_on_tests(reference.memorized)}. The same "
            "fault may cost more or less on new inputs, so the notice rate may be too low or too high. Give the "
            "subject validation=(inputs, targets)."
        )
    if reference.kind == "unlabeled":
        alone = subject.originals == 1
        whose, points = ("network itself", too_low(notice)) if alone else ("other originals", None)
        low = (
            ""
            if points is None
            else f" That makes the rate too low: by {points[0]} to {points[1]} points in our study."
        )
        yield (
            "Not all labels of the pool are known: costs are expected values, by the class probabilities of the "
            f"{whose}.{low} Give validation=(inputs, targets) to measure costs."
        )
    elif reference.kind != "none" and reference.inputs < (PRECISE if reference.scale is None else FEW_TO_SCALE):
        yield _measured(notice, search)
    if subject.originals == 1:
        yield (
            "One original: rate and interval are about this network only. More originals, trained with other seeds, "
            "would tell how much the rate depends on the luck of training."
        )
    if isinstance(runner.task, Classification):
        labels = runner.labels(TEST)
        missing = sorted(set(range(runner.task.classes)) - set(labels.tolist())) if labels is not None else []
        if missing:
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            yield f"The test set has no input of class {', '.join(map(str, missing[:5]))}{more}."
    empty = [said.between(each.low, each.high) for each in notice.bins if not each.faults]
    if empty and notice.rate is not None:
        yield f"No fault {said.cost(' or '.join(empty), one=True)}; the rate is the mean of the other bins."
    unseen = runner.views[0].unseen
    if unseen:
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        yield f"No operator changes {', '.join(unseen[:3])}{more}: the forward pass does not use them in a known way."


def notes_on_inputs(search: FaultSearch) -> Iterator[str]:
    """What is left out: copies of tests, and tests on which costs would be measured."""
    copies = 0 if search.distinct is None else search.distinct.copies
    if search.distinct is not None and copies:
        are = "is a copy of another" if copies == 1 else "are copies of others"
        yield f"{copies:,} of {search.distinct.size:,} tests {are}; each counts once."
    overlaps = search.reference.overlaps
    if overlaps:
        listed = " and ".join(f"{each.tests:,} of {each.size:,} {each.inputs}" for each in overlaps)
        are, them = ("is a test", "it") if sum(each.tests for each in overlaps) == 1 else ("are tests", "them")
        yield f"{listed} {are}; costs were measured without {them}."


def _pools(search: FaultSearch) -> str:
    """Pools on which costs can be measured."""
    unlabeled = f", or one of at least {FEWEST_HELD_OUT} inputs without"
    return f"a pool with targets{unlabeled if isinstance(search.runner.task, Classification) else ''}"


def too_low(notice: Notice) -> tuple[int, int] | None:
    """Points by which the reference set probably makes a notice rate too low; ``None`` if it is not known to.

    >>> from mutiny.verbs.assess.notice import ReferenceRecord
    >>> too_low(Notice(0.6, None, (), reference=ReferenceRecord("validation", 269, 0.98)))
    (5, 20)
    """
    points = known_bias(notice)
    if points is None or notice.rate is None:
        return None
    room = math.floor(100 - 100 * notice.rate)
    return (points[0], min(points[1], room)) if points[0] < room else None


def known_bias(notice: Notice) -> tuple[int, int] | None:
    """Measured bias with such a reference set, in points too low, whatever the rate is; ``None`` without one."""
    reference = notice.reference
    if reference.kind == "unlabeled":
        return OVERCONFIDENT if notice.resampled == CHOICES else None
    if reference.kind == "none" or reference.scale is not None or reference.memorized:
        return None
    if metric_of(notice.unit) is not None:
        return None
    return next((points for inputs, points in TOO_LOW.items() if reference.inputs < inputs), None)


def remedy(reference: ReferenceRecord) -> str:
    """Inputs that make costs precise. Training inputs do only if there are more of them than reference inputs.

    >>> remedy(ReferenceRecord("validation", 269, 0.98)), remedy(ReferenceRecord("train", 269, 0.98))
    ('2,000 validation inputs, or as many training inputs,', '2,000 validation inputs')
    """
    alone = reference.kind not in ("validation", "pool")
    return f"{PRECISE:,} validation inputs" + ("" if alone else ", or as many training inputs,")


def _measured(notice: Notice, search: FaultSearch) -> str:
    """How costs were measured if there are few reference inputs."""
    reference = notice.reference
    if reference.scale is not None:
        return (
            f"Costs were measured on only {reference.inputs:,} inputs that the originals were not trained on, and on "
            f"{reference.trained_inputs:,} training inputs. More of the former make costs more precise."
        )
    more = remedy(reference).removesuffix(",")
    if search.unit.relative:
        return f"Costs were measured on {reference.inputs:,} inputs only. Give {more}."
    error, points = 100 * (0.013 / reference.inputs) ** 0.5, too_low(notice)
    low = "" if points is None else f" That makes the rate too low: by {points[0]} to {points[1]} points in our study."
    return (
        f"Costs were measured on {reference.inputs:,} inputs, so a cost of one point is known to within about "
        f"{error:.1f} points.{low} Give {more}."
    )
