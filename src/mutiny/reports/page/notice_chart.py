"""The chart of the notice rate over the cost of faults."""

from __future__ import annotations

from mutiny.core.stats.intervals import wilson
from mutiny.reports.formatting import count, percent
from mutiny.reports.notice_sentences import phrases
from mutiny.reports.page.blocks import Chart
from mutiny.reports.page.pictures import CostColumn, NoticeCurve
from mutiny.verbs.assess.result import Assessment


def notice_chart(result: Assessment) -> Chart:
    """Share of faults noticed per bin of cost, with Wilson's intervals; drastic faults are a column of their own."""
    notice, columns, unit = result.notice, cost_columns(result), phrases(result.notice).heading
    interval = None if notice.interval is None else (notice.interval.low, notice.interval.high)
    shares = "; ".join(f"{column.name} {_spoken(column)}" for column in columns)
    band = "" if interval is None else " and band"
    drastic = " Hollow: drastic, not counted." if len(columns) > len(notice.bins) else ""
    return Chart(
        "notice",
        NoticeCurve(columns, len(notice.bins), notice.rate, interval, f"cost in {unit}"),
        f"Below each range: noticed/all faults. Bars{band}: 95% intervals.{drastic}",
        f"Share of faults that the tests notice, by cost in {unit}: {shares}; notice rate {percent(notice.rate)}.",
    )


def cost_columns(result: Assessment) -> tuple[CostColumn, ...]:
    """The bins, and the drastic faults above them if there are any."""
    notice, said = result.notice, phrases(result.notice)
    columns = [_column(said.between(each.low, each.high), each.noticed, each.faults) for each in notice.bins]
    drastic = sum(rate.drastic for rate in notice.operators.values())
    missed = sum(rate.missed_drastic for rate in notice.operators.values())
    if notice.bins and drastic > 0 and 0 <= missed <= drastic:
        columns.append(_column(f"{said.number(notice.bins[-1].high)} or more", drastic - missed, drastic))
    return tuple(columns)


def _column(name: str, noticed: int, faults: int) -> CostColumn:
    if not faults:
        return CostColumn(name, None, 0.0, 1.0, 0, 0)
    interval = wilson(noticed, faults)
    return CostColumn(name, noticed / faults, interval.low, interval.high, noticed, faults)


def _spoken(column: CostColumn) -> str:
    if column.share is None:
        return "no faults"
    ends = f"95%: {percent(column.low)} to {percent(column.high)}"
    return f"{percent(column.share)} of {count(column.faults, 'fault')} ({ends})"
