"""The sections of the notice rate by operator and by class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mutiny.core.records import FaultRecord
from mutiny.reports.formatting import NONE, cost, percent, upper_first
from mutiny.reports.notice_sentences import FEWEST_FAULTS, phrases, weak_spots
from mutiny.reports.page.blocks import Block, Column, Section, Table, TableCell, TableRow, Text
from mutiny.verbs.assess.notice import GroupRate, Notice, NoticedBin, OperatorRate
from mutiny.verbs.assess.result import Assessment

BY_OPERATOR = "Which kinds of faults are noticed?"
BY_CLASS = "Which classes need more tests?"


def operators_section(result: Assessment) -> Section:
    """One row per operator, and why some have no faults."""
    notice = result.notice
    blocks: list[Block] = [Text(_answer(notice, "operator"), "answer")]
    columns = (
        Column("Operator"),
        Column("Fault"),
        Column("Faults", True, "faults whose cost falls into the bins"),
        *_cost_columns(notice),
        *_bin_columns(notice),
        *_drastic_columns(notice),
        Column("Rate", True, "mean of the bins that have faults"),
    )
    rows = [_operator_row(result, label, rate) for label, rate in notice.operators.items()]
    blocks.append(Table("operators", "Faults noticed by operator and cost", columns, tuple(rows)))
    reasons = [f"{label}: {rate.reason}." for label, rate in notice.operators.items() if rate.reason]
    blocks.extend(Text(reason, "aside") for reason in reasons)
    return Section("by-operator", BY_OPERATOR, tuple(blocks))


def classes_section(result: Assessment) -> Section:
    """One row per class that bears at least half of the cost of some fault."""
    return Section("by-class", BY_CLASS, tuple(_classes(result)))


def _classes(result: Assessment) -> Iterator[Block]:
    notice = result.notice
    if result.subject.task.classes is None:
        yield Text("A regression has no classes.", "missing")
        return
    if not notice.classes:
        yield Text("No fault of known cost hits one class more than all others together.", "missing")
        return
    yield Text(_answer(notice, "class"), "answer")
    columns = (
        Column("Class"),
        Column("Faults", True, "faults in the bins of which the class bears at least half of the cost"),
        *_bin_columns(notice),
        Column("Rate", True, "mean of the bins that have faults"),
    )
    rows = [
        TableRow((TableCell(name, _as_number(name)), _count(rate), *_bins(notice, rate), _rate(rate)))
        for name, rate in notice.classes.items()
    ]
    yield Table("classes", "Faults noticed by class and cost", columns, tuple(rows))


def _answer(notice: Notice, kind: str) -> str:
    spots = [spot for spot in weak_spots(notice, most=len(notice.operators) + len(notice.classes)) if spot.kind == kind]
    if notice.rate is None:
        return "Unknown: there is no notice rate."
    if spots:
        return f"{upper_first(spots[0].sentence)}."
    groups = notice.operators if kind == "operator" else notice.classes
    if not any(rate.faults >= FEWEST_FAULTS for rate in groups.values()):
        return f"Cannot tell: no {kind} has as many as {FEWEST_FAULTS} faults that count."
    return f"No {kind} stands out: chance may explain why some are noticed less often than others."


def _operator_row(result: Assessment, label: str, rate: OperatorRate) -> TableRow:
    notice = result.notice
    cells = [TableCell(label), TableCell(rate.title), _count(rate)]
    cells += [_cost_range(_faults_of(result, label)) for _ in _cost_columns(notice)]
    drastic = [TableCell(*_of(rate.drastic - rate.missed_drastic, rate.drastic))] if notice.bins else []
    return TableRow((*cells, *_bins(notice, rate), *drastic, _rate(rate, "failed" if rate.failed else NONE)))


def _faults_of(result: Assessment, label: str) -> list[FaultRecord]:
    return [fault for fault in result.faults if fault.operator == label]


def _cost_range(faults: Sequence[FaultRecord]) -> TableCell:
    if not faults:
        return TableCell(NONE)
    costs = [fault.cost for fault in faults]
    return TableCell(" to ".join(dict.fromkeys((cost(min(costs)), cost(max(costs))))), max(costs))


def _bin_columns(notice: Notice) -> tuple[Column, ...]:
    hint = "noticed faults, of all that cost so much"
    return tuple(Column(phrases(notice).between(each.low, each.high), True, hint) for each in notice.bins)


def _cost_columns(notice: Notice) -> tuple[Column, ...]:
    if notice.reference.kind == "none":
        return ()  # earlier versions recorded costs on the test set
    hint = f"lowest and highest cost of all faults that were tried, in {phrases(notice).heading}"
    return (Column("Cost", True, hint),)


def _drastic_columns(notice: Notice) -> tuple[Column, ...]:
    if not notice.bins:
        return ()
    lowest = phrases(notice).number(notice.bins[-1].high)
    return (Column(f"from {lowest}", True, "noticed faults, of all drastic ones; not counted"),)


def _bins(notice: Notice, rate: GroupRate) -> list[TableCell]:
    """A cell for each bin of the page, whichever bins the group has."""
    found = {(each.low, each.high): each for each in rate.bins}
    return [_bin(found.get((each.low, each.high))) for each in notice.bins]


def _bin(each: NoticedBin | None) -> TableCell:
    return TableCell(NONE) if each is None else TableCell(*_of(each.noticed, each.faults))


def _of(noticed: int, faults: int) -> tuple[str, float | None]:
    return (f"{noticed:,} of {faults:,}", noticed / faults) if faults else (NONE, None)


def _count(rate: GroupRate) -> TableCell:
    return TableCell(f"{rate.faults:,}", float(rate.faults))


def _rate(rate: GroupRate, otherwise: str = NONE) -> TableCell:
    return TableCell(percent(rate.rate) if rate.rate is not None else otherwise, rate.rate, share=rate.rate)


def _as_number(name: str) -> float | str:
    return float(name) if name.isascii() and name.isdigit() and len(name) < 16 else name
