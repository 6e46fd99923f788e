"""What each judge notices, side by side, as a table for a terminal."""

from __future__ import annotations

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import NONE, percent
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.result import Assessment

SHORTEST = 16
"""Minimum width of the column of judges."""


def judges_table(result: Assessment, width: int) -> Table:
    """A row for each judge: how many faults of each cost it notices, its rate, and its false alarms.

    Args:
        result: Result with several judges.
        width: Width of the terminal.
    """
    said, bins = CostPhrases(result.notice.unit), result.notice.bins
    titles = [("noticed", said.column(each.low, each.high)) for each in bins]
    titles += [("", "rate"), ("false", "alarms")]
    rows = [(record, _cells(record)) for record in result.judges]
    if any(record.undecided or record.broken for record in result.judges):
        titles.append(("not", "judged"))
        rows = [(record, [*cells, _count(record.undecided + record.broken)]) for record, cells in rows]
    widths = [max(7, len(below), *(cells[at].cell_len for _, cells in rows)) for at, (_, below) in enumerate(titles)]
    table = terminal.table(padding=0)
    widest = max(SHORTEST, width - sum(widths) - len(widths) - 1)
    table.add_column(" \n judge", min_width=SHORTEST, max_width=widest, overflow="fold")
    for title, wide in zip(titles, widths, strict=True):
        table.add_column("\n".join(title), justify="right", no_wrap=True, min_width=wide)
    for record, cells in rows:
        table.add_row(Padding(Text(record.judge), (0, 0, 0, 1)), *cells)
    return table


def _cells(record: JudgeRecord) -> list[Text]:
    cells = [Text(f"{each.noticed}/{each.faults}") if each.faults else Text(NONE, style="dim") for each in record.bins]
    alarms = record.false_alarms
    shown = NONE if alarms is None else f"{alarms.noticed}/{alarms.changes}"
    return [*cells, Text(percent(record.rate), style="bold"), Text(shown, style="dim")]


def _count(many: int) -> Text:
    return Text(str(many), style="yellow" if many else "dim")
