"""How many tests would be enough, in a sentence: also if that is uncertain or unknown."""

from __future__ import annotations

from mutiny.reports.formatting import count
from mutiny.reports.notice_sentences import over_what
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.cost_unit import metric_of
from mutiny.verbs.assess.notice import PlannedSize
from mutiny.verbs.assess.result import Assessment

UNCERTAIN = 10.0
"""A planned size whose interval reaches further than this factor from it is not known well."""


def plan_sentence(result: Assessment) -> str:
    """How many inputs would notice a cost four times in five, or why that is unknown; empty if nothing was tried."""
    notice, test, said = result.notice, result.subject.splits.get("test"), CostPhrases(result.notice.unit)
    fewest = fewest_broken(notice.alpha)
    if metric_of(notice.unit) is None and test is not None and test.inputs < fewest:
        return (
            f"With {count(test.inputs, 'test')}, no fault can be noticed: at p < {notice.alpha:g}, at least {fewest} "
            "answers must break."
        )
    middle = middle_plan(result)
    if middle is None:
        if not result.faults or (notice.bins and not notice.faults):
            return ""
        what = "break clearly more of these tests' answers than they repair"
        if metric_of(notice.unit) is not None:
            what = f"raise the {metric_of(notice.unit)} of these tests enough"
        return f"How many inputs notice {said.any_loss} is unknown: the faults that were tried do not {what}."
    start = f"To notice {said.loss(middle.cost)} four times in five takes"
    if result.headline_judge is not None:
        start = f"With the paired test, to notice {said.loss(middle.cost)} four times in five takes"
    size = planned_size(middle, result)
    if not unsure(middle, result):
        ends = "" if middle.low is None or middle.high is None else f" ({middle.low:,} to {middle.high:,})"
        return f"{start} about {size} inputs like these{ends}."
    if not size:
        return f"{start} a number of inputs that is unknown with {over_what(result)}."
    return f"{start} {size} inputs like these; how many more is unknown with {over_what(result)}."


def middle_plan(result: Assessment) -> PlannedSize | None:
    """The size that is planned for the middle one of the costs for which there is a plan."""
    plan = [each for each in result.notice.plan if each.inputs is not None]
    return plan[len(plan) // 2] if plan else None


def unsure(planned: PlannedSize, result: Assessment) -> bool:
    """Whether a planned size is not known well.

    Without an interval it is not, unless nothing has one because all faults are of one random choice.
    """
    if planned.inputs is None:
        return True
    if planned.low is None or planned.high is None:
        return result.notice.interval is not None
    return planned.inputs > UNCERTAIN * planned.low or planned.high > UNCERTAIN * planned.inputs


def planned_size(planned: PlannedSize, result: Assessment) -> str:
    """A planned size, or its lower end if it is not known well; empty if that is unknown or tells nothing."""
    if not unsure(planned, result):
        return f"{planned.inputs:,}"
    known = planned.inputs is not None and planned.low is not None and planned.low > fewest_broken(result.notice.alpha)
    return f"at least {planned.low:,}" if known else ""


def fewest_broken(alpha: float) -> int:
    """Fewest broken answers that McNemar's exact test can notice: the smallest n with 1/2^n < alpha.

    >>> fewest_broken(0.05), fewest_broken(0.01), fewest_broken(0.5)
    (5, 7, 2)
    """
    return next((n for n in range(1, 1075) if 0.5**n < alpha), 1075)
