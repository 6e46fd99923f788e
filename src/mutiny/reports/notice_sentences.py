"""The sentences with which every report of an assessment begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from mutiny.core.records import FaultRecord
from mutiny.core.stats import Interval
from mutiny.reports.formatting import count, percent
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.notes import too_low
from mutiny.verbs.assess.notice import GroupRate, Notice, NoticedBin
from mutiny.verbs.assess.reference import KINDS, PRECISE
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.summary import ORIGINALS

FEWEST_FAULTS = 5
"""Fewer faults than this are no weak spot."""
CLEARLY_LOWER = 0.15
"""A group whose rate is this much lower than that of all faults is a weak spot."""
WIDEST = 0.6
"""An interval that is wider than this does not tell what the rate is."""
OVERCONFIDENT = "measured by the network's own probabilities, which are overconfident"
"""How costs were measured on a pool without labels, with one original."""
FEWEST_ORIGINALS = 5
"""Fewer originals than this give wide intervals, because Student's t has few degrees of freedom."""


def phrases(notice: Notice) -> CostPhrases:
    """Phrases about costs, which say so if costs were measured on memorized training inputs."""
    return CostPhrases(notice.unit, "on training inputs" if notice.reference.memorized else "")


def cost_words(notice: Notice) -> str:
    """What a cost is and on which inputs it was measured."""
    reference, costs = notice.reference, CostPhrases(notice.unit)
    inputs = f"{reference.inputs:,} {KINDS.get(reference.kind, reference.kind)}"
    if reference.scale is None:
        return costs.lost_on(inputs)
    what = "that it was trained on" if reference.kind == "folds" else "training inputs"
    trained = f"{reference.trained_inputs:,} {what} (scaled by {reference.scale:.2f} to match)"
    return f"{costs.lost_on(inputs)} and on {trained}; the mean of both, weighted by precision"


def headline(result: Assessment) -> str:
    """The answer in one sentence, with its interval; what it takes to tell if the interval is too wide to be useful."""
    notice = result.notice
    if notice.rate is None or not notice.bins:
        return no_rate(result)
    said = phrases(notice)
    faults = f"the faults that {said.cost(said.between(notice.bins[0].low, notice.bins[-1].high))}"
    share = percent(notice.rate)
    if useless(notice.interval):
        return (
            f"Cannot tell what share of {faults} your {your_tests(result)} notice: {share} of those that were tried, "
            f"but anything {_ends(notice.interval)} is possible with {_over(result)}. {_takes(result)}"
        )
    return f"Your {your_tests(result)} notice {share} of {faults} ({interval(result)})."


def your_tests(result: Assessment) -> str:
    """The test set with its size, unless a file does not tell it."""
    test = result.subject.splits.get("test")
    return "tests" if test is None else f"{test.inputs:,} tests"


def useless(interval: Interval | None) -> TypeGuard[Interval]:
    """Whether an interval is so wide that it does not tell what the rate is."""
    return interval is not None and interval.width > WIDEST


def interval(result: Assessment) -> str:
    """The interval, and what it is over."""
    if result.notice.interval is None:
        return "no interval: all faults are of one random choice"
    ends = result.notice.interval
    return f"95%: {percent(ends.low)} to {percent(ends.high)}, over {_over(result)}"


def _ends(interval: Interval) -> str:
    return f"from {interval.low:.0%} to {interval.high:.0%}"


def _over(result: Assessment) -> str:
    if result.notice.resampled == ORIGINALS:
        return f"{result.subject.originals} originals"
    return f"{result.settings.get('seeds', 'several')} random choices on one original"


def _takes(result: Assessment) -> str:
    """What it takes to narrow a useless interval."""
    if result.notice.resampled == ORIGINALS:
        if result.subject.originals < FEWEST_ORIGINALS:
            alone = "With one original, the answer holds for that network only."
            return f"Use at least {FEWEST_ORIGINALS} originals. {alone}"
        return f"Use at least {result.subject.originals + 1} originals."
    return "Use more random choices, or more originals."


def bias_sentence(notice: Notice) -> str:
    """How much too low the rate probably is, and what helps; empty if nothing is known to make it too low."""
    points = too_low(notice)
    if points is None:
        return ""
    low, high = points
    why, helps = f"costs were measured on only {notice.reference.inputs} inputs", f"{PRECISE:,} validation inputs"
    if notice.reference.kind == "unlabeled":
        why = f"costs were {OVERCONFIDENT}"
    elif notice.reference.kind != "train":
        helps += ", or the training set,"
    return f"The rate is probably {low} to {high} points too low, because {why}: {helps} would correct that."


def no_rate(result: Assessment) -> str:
    """The reason why there is no notice rate, and what the size of the test set alone tells."""
    start = f"Cannot tell which faults your {your_tests(result)} notice"
    if result.notice.reference.kind == "none":
        return f"{start}: there are no other inputs on which to measure what a fault costs."
    return f"{start}: none of the faults that were tried has a cost in the range that counts."


def bins_sentence(notice: Notice) -> str:
    """The rate of each bin, from cheap to costly; bins at the end that are all noticed are joined."""
    said, bins = CostPhrases(notice.unit), [each for each in notice.bins if each.faults]
    if not bins:
        return ""
    last = len(bins)
    while last and bins[last - 1].rate == 1:
        last -= 1
    parts = [
        f"{percent(each.rate)} of those that {said.briefly(said.between(each.low, each.high))}" for each in bins[:1]
    ]
    parts += [f"{percent(each.rate)} at {said.between(each.low, each.high)}" for each in bins[1:last]]
    if last == 0:
        return "They notice every one of them."
    if last < len(bins):
        parts.append(f"all at {said.between(bins[last].low, bins[-1].high)}")
    return f"By cost: {', '.join(parts)}."


def plan_sentence(result: Assessment) -> str:
    """How many inputs would notice a cost four times in five; empty if that is unknown."""
    plan = [each for each in result.notice.plan if each.inputs is not None]
    if not plan:
        return ""
    middle = plan[len(plan) // 2]
    ends = "" if middle.low is None or middle.high is None else f" ({middle.low:,} to {middle.high:,})"
    loss = CostPhrases(result.notice.unit).loss(middle.cost)
    return f"To notice {loss} four times in five takes about {middle.inputs:,} inputs like these{ends}."


def named_fault(fault: FaultRecord, unit: str = "") -> str:
    """A fault in words, with its cost in a unit."""
    at = "" if fault.strength is None else f" at {fault.parameter} {fault.strength:.3g}"
    return f"{fault.operator}{at} on original {fault.original + 1}, which {CostPhrases(unit).cost_of_one(fault.cost)}"


@dataclass(frozen=True)
class WeakSpot:
    """A group of faults that the test set notices much less often than others.

    Attributes:
        kind: ``operator`` or ``class``.
        name: Label of the operator, or the class.
        group: Rate of the group.
        worst: The bin in which most faults are missed.
        unit: Unit of costs.
    """

    kind: str
    name: str
    group: GroupRate
    worst: NoticedBin
    unit: str

    @property
    def share(self) -> str:
        """How few of these faults are noticed, as a sentence without its full stop."""
        which = f"faults of {self.name}" if self.kind == "operator" else f"faults that hit class {self.name}"
        rate = f"Only {percent(self.group.rate)}" if self.group.rate else "None"
        return f"{rate} of the {which} are noticed"

    @property
    def sentence(self) -> str:
        """The weak spot in words, without capital and full stop."""
        said, missed = CostPhrases(self.unit), self.worst.faults - self.worst.noticed
        costs = said.briefly(said.between(self.worst.low, self.worst.high))
        which = f"all {missed}" if missed == self.worst.faults > 1 else f"{missed} of {self.worst.faults}"
        verb = "is" if missed == 1 else "are"
        return f"{self.share[0].lower()}{self.share[1:]}; {which} that {costs} {verb} missed"


def weak_spots(notice: Notice, most: int = 3) -> list[WeakSpot]:
    """Operators and classes whose faults are noticed much less often than others, the worst first."""
    found = [*_spots(notice, "operator"), *_spots(notice, "class")]
    return sorted(found, key=lambda spot: spot.group.rate or 0.0)[:most]


def _spots(notice: Notice, kind: str) -> Iterator[WeakSpot]:
    for name, group in (notice.operators if kind == "operator" else notice.classes).items():
        if group.rate is None or notice.rate is None or group.faults < FEWEST_FAULTS:
            continue
        if group.rate <= notice.rate - CLEARLY_LOWER:
            worst = max(group.bins, key=lambda each: each.faults - each.noticed)
            yield WeakSpot(kind, name, group, worst, notice.unit)


RELIABLY = 0.8
"""Faults of a cost are noticed reliably if this share of them is: the power that tests are planned for."""


def decision(result: Assessment) -> str:
    """The answer to "may this ship?": which losses a network that passes these tests may still hide."""
    notice, bins = result.notice, [each for each in result.notice.bins if each.faults]
    if notice.rate is None or not bins:
        return "Cannot tell from these tests: it is unknown which faults they miss."
    missed, said = len(result.missed_drastic()), phrases(notice)
    if missed:
        faults = f"{count(missed, 'fault')} that {said.cost_at_least(notice.bins[-1].high, one=missed == 1)}"
        return f"No: these tests do not support it; they miss {faults}, which any test set should notice."
    if useless(notice.interval):
        return f"Cannot tell yet: the notice rate may be anything {_ends(notice.interval)}. {_takes(result)}"
    first = len(bins)
    while first and (bins[first - 1].rate or 0.0) >= RELIABLY:
        first -= 1
    if first == len(bins):
        faults = f"the faults that {said.cost(said.between(bins[-1].low, bins[-1].high))}"
        return f"No: these tests do not support it; they notice only {_share(bins[-1:])} of {faults}."
    limit = bins[first].low
    if first:
        return (
            f"Only if {said.loss(limit, below=True)} is acceptable. The tests notice {_share(bins[first:])} of the "
            f"faults above that, and only {_share(bins[:first])} of those below."
        )
    certain = notice.interval is not None and notice.interval.low >= RELIABLY
    faults = f"the faults that {said.cost_at_least(limit)}"
    return f"{'Yes' if certain else 'Probably'}, if the tests pass: they notice {_share(bins)} of {faults}."


def _share(bins: list[NoticedBin]) -> str:
    return percent(sum(each.noticed for each in bins) / sum(each.faults for each in bins))
