"""The sentences with which every report of an assessment begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from mutiny.core.records import FaultRecord
from mutiny.core.stats import Interval, holm, stratified_fisher
from mutiny.reports.formatting import percent
from mutiny.reports.judge_sentences import your_judge
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.notes import remedy, too_low
from mutiny.verbs.assess.notice import GroupRate, Notice
from mutiny.verbs.assess.reference import KINDS
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.summary import ORIGINALS

FEWEST_FAULTS = 5
"""Fewer faults than this are no weak spot."""
CHANCE = 0.05
"""Level at which a group that is noticed less often than others is a weak spot."""
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
    notice = result.headline_notice
    if notice.rate is None or not notice.bins:
        return no_rate(result)
    said = phrases(notice)
    faults = f"the faults that {said.cost(said.between(notice.bins[0].low, notice.bins[-1].high))}"
    share, (who, verb) = percent(notice.rate), who_notices(result)
    if useless(notice.interval):
        return (
            f"Cannot tell what share of {faults} {who[0].lower()}{who[1:]} {verb}: {share} of those that were tried, "
            f"but anything {ends_of(notice.interval)} is possible with {over_what(result)}. {what_narrows(result)}"
        )
    return f"{who} {verb} {share} of {faults} ({interval(result)})."


def who_notices(result: Assessment) -> tuple[str, str]:
    """The subject of a sentence about what is noticed, and its verb."""
    first, tests = result.headline_judge, your_tests(result)
    return (f"Your {tests}", "notice") if first is None else (your_judge(first, tests), "notices")


def your_tests(result: Assessment) -> str:
    """The test set with its size, unless a file does not tell it."""
    test = result.subject.splits.get("test")
    return "tests" if test is None else f"{test.inputs:,} tests"


def useless(interval: Interval | None) -> TypeGuard[Interval]:
    """Whether an interval is so wide that it does not tell what the rate is."""
    return interval is not None and interval.width > WIDEST


def interval(result: Assessment) -> str:
    """The interval, and what it is over."""
    ends = result.headline_notice.interval
    if ends is None:
        return "no interval: all faults are of one random choice"
    return f"95%: {percent(ends.low)} to {percent(ends.high)}, over {over_what(result)}"


def ends_of(interval: Interval) -> str:
    """Both ends of an interval in a sentence."""
    return f"from {interval.low:.0%} to {interval.high:.0%}"


def over_what(result: Assessment) -> str:
    """What intervals are over."""
    if result.notice.resampled == ORIGINALS:
        return f"{result.subject.originals} originals"
    return f"{result.settings.get('seeds', 'several')} random choices on one original"


def what_narrows(result: Assessment) -> str:
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
    why = f"costs were measured on only {notice.reference.inputs:,} inputs"
    if notice.reference.kind == "unlabeled":
        why = f"costs were {OVERCONFIDENT}"
    helps = f"{remedy(notice.reference)} would correct that"
    return f"The rate is probably {low} to {high} points too low, because {why}: {helps}."


def no_rate(result: Assessment) -> str:
    """The reason why there is no notice rate, and what the size of the test set alone tells."""
    who, verb = who_notices(result)
    start = f"Cannot tell which faults {who[0].lower()}{who[1:]} {verb}"
    if result.notice.reference.kind == "none":
        return f"{start}: there are no other inputs on which to measure what a fault costs."
    return f"{start}: none of the faults that were tried has a cost in the range that counts."


def bins_sentence(notice: Notice, who: str = "They notice") -> str:
    """The rate of each bin, from cheap to costly; bins at the end that are all noticed are joined.

    Args:
        notice: Rates.
        who: Who notices, if all faults are noticed.
    """
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
        return f"{who} every one of them."
    if last < len(bins):
        parts.append(f"all at {said.between(bins[last].low, bins[-1].high)}")
    return f"By cost: {', '.join(parts)}."


def named_fault(fault: FaultRecord, unit: str = "") -> str:
    """A fault in words, with its cost in a unit."""
    at = "" if fault.strength is None else f" at {fault.parameter} {fault.strength:.3g}"
    return f"{fault.operator}{at} on original {fault.original + 1}, which {CostPhrases(unit).cost_of_one(fault.cost)}"


@dataclass(frozen=True)
class WeakSpot:
    """A group of faults that the test set notices less often than others of the same cost, beyond chance.

    Attributes:
        kind: ``operator`` or ``class``.
        name: Label of the operator, or the class.
        group: Rate of the group.
        expected: Number of its faults that would be noticed at the rates of all faults, bin by bin.
    """

    kind: str
    name: str
    group: GroupRate
    expected: float

    @property
    def share(self) -> str:
        """How few of these faults are noticed, as a sentence without its full stop."""
        which = f"faults of {self.name}" if self.kind == "operator" else f"faults that hit class {self.name}"
        noticed = self.group.noticed
        few = "none is noticed" if not noticed else f"only {noticed:,} {'is' if noticed == 1 else 'are'} noticed"
        return f"Of {self.group.faults:,} {which}, {few}"

    @property
    def sentence(self) -> str:
        """The weak spot in words, without capital and full stop."""
        return f"{self.share[0].lower()}{self.share[1:]}; {self.expected:,.0f} would be at the rates of all faults"


def weak_spots(notice: Notice, most: int = 3) -> list[WeakSpot]:
    """Operators and classes whose faults are noticed less often than others of the same cost, the worst first.

    A group is one only if chance does not explain it: p < 0.05 after Holm's correction for all groups with enough
    faults. Groups are compared within bins, because a group of cheap faults has a low rate wherever it comes from.
    """
    looked = [*_compared(notice, "operator"), *_compared(notice, "class")]
    corrected = holm([p for p, _ in looked])
    found = [spot for p, (_, spot) in zip(corrected.tolist(), looked, strict=True) if p < CHANCE]
    return sorted(found, key=lambda spot: spot.group.noticed - spot.expected)[:most]


def _compared(notice: Notice, kind: str) -> Iterator[tuple[float, WeakSpot]]:
    """Groups with enough faults, and the p-value of each: is it noticed less often than the other faults?"""
    everything = {(each.low, each.high): each for each in notice.bins}
    for name, group in (notice.operators if kind == "operator" else notice.classes).items():
        if not FEWEST_FAULTS <= group.faults < notice.faults:
            continue
        others = [(0, 0)] * len(group.bins)
        for at, each in enumerate(group.bins):
            if (whole := everything.get((each.low, each.high))) is not None:
                size = max(0, whole.faults - each.faults)
                others[at] = min(size, max(0, whole.noticed - each.noticed)), size
        noticed, faults = [each.noticed for each in group.bins], [each.faults for each in group.bins]
        p, expected = stratified_fisher(noticed, faults, [seen for seen, _ in others], [size for _, size in others])
        yield p, WeakSpot(kind, name, group, expected)
