"""The sentences with which every report of an assessment begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mutiny.core.records import FaultRecord
from mutiny.reports.formatting import count, percent
from mutiny.verbs.assess.notice import GroupRate, Notice, NoticedBin
from mutiny.verbs.assess.reference import KINDS
from mutiny.verbs.assess.result import Assessment

FEWEST_FAULTS = 5
"""Fewer faults than this are no weak spot."""
CLEARLY_LOWER = 0.15
"""A group whose rate is this much lower than that of all faults is a weak spot."""


def fraction(cost: float) -> str:
    """A cost in a sentence.

    >>> fraction(0.5), fraction(8.0)
    ('1/2', '8')
    """
    return "1/2" if cost == 0.5 else f"{cost:g}"


def cost_range(low: float, high: float) -> str:
    """A range of costs in a sentence."""
    return f"{fraction(low)} to {fraction(high)}"


def unit_words(notice: Notice) -> str:
    """The unit of costs, which says so if costs were measured on memorized training inputs."""
    return f"{notice.unit} on training inputs" if notice.reference.memorized else notice.unit


def cost_words(notice: Notice) -> str:
    """What a cost is and on which inputs it was measured."""
    reference, unit = notice.reference, unit_words(notice)
    inputs = f"{reference.inputs:,} {KINDS.get(reference.kind, reference.kind)}"
    if reference.scale is None:
        return f"{unit} lost on {inputs}"
    return f"{unit} lost on {reference.trained_inputs:,} training inputs, times {reference.scale:.2f} to fit {inputs}"


def headline(result: Assessment) -> str:
    """The answer in one sentence, with its interval."""
    notice = result.notice
    if notice.rate is None or not notice.bins:
        return no_rate(result)
    costs = f"{cost_range(notice.bins[0].low, notice.bins[-1].high)} {unit_words(notice)}"
    share = percent(notice.rate)
    return f"Your {your_tests(result)} notice {share} of the faults that cost {costs} ({interval(result)})."


def your_tests(result: Assessment) -> str:
    """The test set with its size, unless a file does not tell it."""
    test = result.subject.splits.get("test")
    return "tests" if test is None else f"{test.inputs:,} tests"


def interval(result: Assessment) -> str:
    """The interval, and what it is over."""
    notice = result.notice
    if notice.interval is None:
        return "no interval: all faults are of one random choice"
    over = f"{result.subject.originals} originals"
    if notice.resampled != "originals":
        over = f"{result.settings.get('seeds', 'several')} random choices on one original"
    return f"95%: {percent(notice.interval.low)} to {percent(notice.interval.high)}, over {over}"


def no_rate(result: Assessment) -> str:
    """The reason why there is no notice rate, and what the size of the test set alone tells."""
    start = f"Cannot tell which faults your {your_tests(result)} notice"
    if result.notice.reference.kind == "none":
        return f"{start}: there are no other inputs on which to measure what a fault costs."
    return f"{start}: no fault that was tried falls into the bins of cost."


def bins_sentence(group: GroupRate) -> str:
    """The rate of each bin, from cheap to costly; bins at the end that are all noticed are joined."""
    bins = [each for each in group.bins if each.faults]
    if not bins:
        return ""
    last = len(bins)
    while last and bins[last - 1].rate == 1:
        last -= 1
    parts = [f"{percent(each.rate)} of those that cost {cost_range(each.low, each.high)}" for each in bins[:1]]
    parts += [f"{percent(each.rate)} at {cost_range(each.low, each.high)}" for each in bins[1:last]]
    if last == 0:
        return "They notice every one of them."
    if last < len(bins):
        parts += ["all above"] if len(bins) > 1 else []
    return f"By cost: {', '.join(parts)}."


def plan_sentence(result: Assessment) -> str:
    """How many inputs would notice a cost four times in five; empty if that is unknown."""
    plan = [each for each in result.notice.plan if each.inputs is not None]
    if not plan:
        return ""
    middle = plan[len(plan) // 2]
    ends = "" if middle.low is None or middle.high is None else f" ({middle.low:,} to {middle.high:,})"
    unit = result.notice.unit.removesuffix("s") if middle.cost == 1 else result.notice.unit
    return (
        f"To notice a loss of {fraction(middle.cost)} {unit} four times in five takes about {middle.inputs:,} inputs "
        f"like these{ends}."
    )


def named_fault(fault: FaultRecord) -> str:
    """A fault in words, with its cost."""
    at = "" if fault.strength is None else f" at {fault.parameter} {fault.strength:.3g}"
    return f"{fault.operator}{at} on original {fault.original + 1}, which costs {fault.cost:.3g}"


@dataclass(frozen=True)
class WeakSpot:
    """A group of faults that the test set notices much less often than others.

    Attributes:
        kind: ``operator`` or ``class``.
        name: Label of the operator, or the class.
        group: Rate of the group.
        worst: The bin in which most faults are missed.
    """

    kind: str
    name: str
    group: GroupRate
    worst: NoticedBin

    @property
    def sentence(self) -> str:
        """The weak spot in words."""
        what = f"faults of {self.name}" if self.kind == "operator" else f"faults that hit class {self.name}"
        missed = self.worst.faults - self.worst.noticed
        share = f"{missed} of {count(self.worst.faults, 'fault')} {'is' if missed == 1 else 'are'} missed"
        costs = cost_range(self.worst.low, self.worst.high)
        return f"{what}: {percent(self.group.rate)} noticed; of those that cost {costs}, {share}"


def weak_spots(notice: Notice, most: int = 3) -> list[WeakSpot]:
    """Operators and classes whose faults are noticed much less often than others, the worst first."""
    found = [*_spots(notice, "operator"), *_spots(notice, "class")]
    return sorted(found, key=lambda spot: spot.group.rate or 0.0)[:most]


def _spots(notice: Notice, kind: str) -> Iterator[WeakSpot]:
    for name, group in (notice.operators if kind == "operator" else notice.classes).items():
        if group.rate is None or notice.rate is None or group.faults < FEWEST_FAULTS:
            continue
        if group.rate <= notice.rate - CLEARLY_LOWER:
            yield WeakSpot(kind, name, group, max(group.bins, key=lambda each: each.faults - each.noticed))


RELIABLY = 0.8
"""Faults of a cost are noticed reliably if this share of them is: the power that tests are planned for."""


def decision(result: Assessment) -> str:
    """The answer to "may this ship?": which losses a network that passes these tests may still hide."""
    notice, bins = result.notice, [each for each in result.notice.bins if each.faults]
    if notice.rate is None or not bins:
        return "Cannot tell from these tests: what they would miss is not known."
    missed, top = len(result.missed_drastic()), fraction(notice.bins[-1].high)
    if missed:
        faults = (
            f"{count(missed, 'fault')} that {'costs' if missed == 1 else 'cost'} {top} {unit_words(notice)} or more"
        )
        return f"Not on the word of these tests: they miss {faults}, which any test set should notice."
    first = len(bins)
    while first and (bins[first - 1].rate or 0.0) >= RELIABLY:
        first -= 1
    if first == len(bins):
        worst = bins[-1]
        costs = f"{cost_range(worst.low, worst.high)} {unit_words(notice)}"
        return f"Not on the word of these tests: they notice only {_share([worst])} of the faults that cost {costs}."
    limit = f"{fraction(bins[first].low)} {unit_words(notice)}"
    if first:
        return (
            f"Only if a loss of less than {limit} is acceptable. The tests notice {_share(bins[first:])} of the faults "
            f"that cost more, and only {_share(bins[:first])} of those that cost less."
        )
    certain = notice.interval is not None and notice.interval.low >= RELIABLY
    return (
        f"{'Yes' if certain else 'Probably'}, if the tests pass: they notice {_share(bins)} of the faults that cost "
        f"{limit} or more."
    )


def _share(bins: list[NoticedBin]) -> str:
    return percent(sum(each.noticed for each in bins) / sum(each.faults for each in bins))
