"""From faults to the record of each judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mutiny.core.records import FaultRecord, JudgeOutcome
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.fault_search import FoundFault
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.judges.record import JudgeRecord, UnjudgedReason
from mutiny.verbs.assess.notice import Notice
from mutiny.verbs.assess.summary import classes_of, false_alarms, group_rate, operators_of

MOST_REASONS = 5
"""Most reasons that a record keeps."""


def judge_records(
    judges: Sequence[Judge],
    faults: Mapping[str, Sequence[FoundFault]],
    harmless: Sequence[FoundFault],
    notice: Notice,
    unit: CostUnit,
) -> tuple[JudgeRecord, ...]:
    """A record for each judge, in their order.

    Args:
        judges: The judges.
        faults: Faults by label of their operator.
        harmless: Harmless changes, for false alarms.
        notice: What the paired test notices.
        unit: Unit of costs.
    """
    return tuple(_record(judge, faults, harmless, notice, unit) for judge in judges)


def _record(
    judge: Judge,
    faults: Mapping[str, Sequence[FoundFault]],
    harmless: Sequence[FoundFault],
    notice: Notice,
    unit: CostUnit,
) -> JudgeRecord:
    rated = notice.reference.kind != "none"
    decided = {label: as_judged(group, judge.label) for label, group in faults.items()}
    everything = [fault for group in decided.values() for fault in group]
    overall = group_rate(everything if rated else [], unit)
    counted = [fault.record for group in faults.values() for fault in group if _counts(fault.record, unit)]
    outcomes = Counter(record.outcome(judge.label) for record in counted)
    return JudgeRecord(
        rate=overall.rate,
        interval=overall.interval,
        bins=overall.bins if rated else (),
        judge=judge.label,
        kind=judge.code,
        title=judge.title,
        undecided=outcomes[JudgeOutcome.UNDECIDED],
        broken=outcomes[JudgeOutcome.BROKEN],
        reasons=_reasons(judge.label, counted),
        false_alarms=false_alarms(as_judged(harmless, judge.label)),
        operators=operators_of(decided, notice.operators, unit) if rated else {},
        classes=classes_of(everything, unit) if rated else {},
    )


def as_judged(faults: Sequence[FoundFault], judge: str) -> list[FoundFault]:
    """The faults that a judge decided, with its outcome in place of that of the paired test."""
    judged = []
    for fault in faults:
        outcome = fault.record.outcome(judge)
        if outcome.decided:
            noticed = outcome is JudgeOutcome.NOTICED
            judged.append(replace(fault, record=replace(fault.record, noticed=noticed)))
    return judged


def _counts(record: FaultRecord, unit: CostUnit) -> bool:
    return unit.edges[0] <= record.cost < unit.edges[-1]


def _reasons(judge: str, records: Sequence[FaultRecord]) -> tuple[UnjudgedReason, ...]:
    said = Counter(
        (judgement.outcome.value, judgement.reason or "")
        for record in records
        for judgement in record.judged or ()
        if judgement.judge == judge and not judgement.outcome.decided
    )
    return tuple(UnjudgedReason(*what, faults) for what, faults in said.most_common(MOST_REASONS))
