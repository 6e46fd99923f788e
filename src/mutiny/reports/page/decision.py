"""The answer to "may this ship?"."""

from __future__ import annotations

from collections.abc import Sequence

from mutiny.reports.formatting import count, percent
from mutiny.reports.notice_sentences import FEWEST_FAULTS, ends_of, phrases, useless, what_narrows
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.notice import NoticedBin
from mutiny.verbs.assess.result import Assessment

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
        return f"Cannot tell yet: the notice rate may be anything {ends_of(notice.interval)}. {what_narrows(result)}"
    first = len(bins)
    while first and _covered(bins[first - 1]):
        first -= 1
    if first == len(bins):
        top = bins[-1]
        faults = said.cost(said.between(top.low, top.high), one=top.faults == 1)
        if _share(bins[-1:]) >= RELIABLY:
            tried = f"only {count(top.faults, 'fault')} that {faults} {_was(top.faults)} tried"
            return f"Cannot tell yet: {tried}. Use more random choices, or more originals."
        noticed = f"only {percent(top.rate)}" if top.noticed else "none"
        return f"No: these tests do not support it; they notice {noticed} of the faults that {_costs(said, [top])}."
    covered = f"notice {percent(_share(bins[first:]))} of the faults that {_costs(said, bins[first:])}"
    if not first:
        certain = notice.interval is not None and notice.interval.low >= RELIABLY
        return f"{'Yes' if certain else 'Probably'}, if the tests pass: they {covered}."
    below, nearest = _share(bins[:first]), bins[first - 1]
    only = "only " if below < RELIABLY else ""
    few = f", of which only {nearest.faults} {_was(nearest.faults)} tried" if nearest.faults < FEWEST_FAULTS else ""
    cheaper = said.briefly(_ranges(said, bins[:first]))
    return (
        f"Only if {said.loss(bins[first].low, below=True)} is acceptable. The tests {covered}, and {only}"
        f"{percent(below)} of those that {cheaper}{few if not only else ''}."
    )


def _covered(each: NoticedBin) -> bool:
    """Whether enough faults of a cost show that they are noticed reliably."""
    return each.faults >= FEWEST_FAULTS and _share([each]) >= RELIABLY


def _share(bins: Sequence[NoticedBin]) -> float:
    """Mean over bins that have faults, as in the notice rate."""
    return sum(each.noticed / each.faults for each in bins) / len(bins)


def _costs(said: CostPhrases, bins: Sequence[NoticedBin]) -> str:
    return said.cost(_ranges(said, bins))


def _ranges(said: CostPhrases, bins: Sequence[NoticedBin]) -> str:
    """Costs of some bins; neighbors are joined."""
    ends: list[tuple[float, float]] = []
    for each in bins:
        if ends and ends[-1][1] == each.low:
            ends[-1] = ends[-1][0], each.high
        else:
            ends.append((each.low, each.high))
    return " or ".join(said.between(*pair) for pair in ends)


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
