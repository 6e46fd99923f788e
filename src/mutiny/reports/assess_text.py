"""An assessment as text for a terminal: the answer, then the table behind it, then how it was done."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import NONE, cost, count, percent
from mutiny.reports.judge_sentences import named_judge, unjudged
from mutiny.reports.judges_text import judges_table
from mutiny.reports.notice_sentences import (
    bias_sentence,
    bins_sentence,
    cost_words,
    headline,
    named_fault,
    useless,
    weak_spots,
)
from mutiny.reports.plan_sentences import plan_sentence, unsure
from mutiny.reports.terminal import escape
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.cost_unit import TOLERATED
from mutiny.verbs.assess.gates.calibration_sentence import calibration_sentence
from mutiny.verbs.assess.notice import Notice, NoticedBin, OperatorRate
from mutiny.verbs.assess.result import Assessment

GOOD, FAIR = 0.8, 0.5
"""Rates from which on a number is green or yellow; lower ones are red."""
SHORTEST = 9
"""Minimum width of the column of operators."""
NAMED = 3
"""Missed drastic faults that are named one by one."""


def assess_text(result: Assessment, width: int = 80) -> RenderableType:
    """The whole text."""
    result = result.by_headline_judge
    parts: list[RenderableType] = [Padding(_answer(result), (1, 1), expand=False)]
    if result.judges and result.notice.rate is not None:
        parts.extend([judges_table(result, width), Text("")])
        said = [calibration_sentence(each.calibration) for each in result.judges if each.calibration is not None]
        parts.extend(Padding(Text(sentence), (0, 1, 1, 1), expand=False) for sentence in [*said, *unjudged(result)])
    if result.notice.rate is not None:
        parts.append(_table(result, width))
        parts.append(Text(""))
    parts.extend(terminal.legend(_legend(result)))
    parts.extend(terminal.notes(result.notes, above=1))
    return Group(*parts)


def _answer(result: Assessment) -> Text:
    notice = result.notice
    style = color(None if useless(notice.interval) else notice.rate)
    lines = [f"[bold {style}]{escape(headline(result))}[/]"]
    bias = bias_sentence(notice)
    lines.append(f"[yellow]{escape(bias)}[/]" if bias else "")
    lines.append(escape(bins_sentence(notice, "They notice" if result.headline_judge is None else "It notices")))
    lines.append(escape(plan_sentence(result)) if result.headline_judge is None else "")
    missed = result.missed_drastic()
    if missed:
        more = f" and {len(missed) - NAMED} more" if len(missed) > NAMED else ""
        named = "; ".join(named_fault(fault, notice.unit) for fault in missed[:NAMED])
        lines.append(f"[red]Drastic, yet missed:[/] {escape(named)}{more}.")
    lines.extend(f"[yellow]Weak spot:[/] {escape(spot.sentence)}." for spot in weak_spots(notice))
    return Text.from_markup("\n".join(filter(None, lines)))


def color(rate: float | None) -> str:
    """Style of a rate."""
    return "yellow" if rate is None else "green" if rate >= GOOD else "yellow" if rate >= FAIR else "red"


def _table(result: Assessment, width: int) -> Table:
    notice, said = result.notice, CostPhrases(result.notice.unit)
    bins = [("noticed", said.column(each.low, each.high)) for each in notice.bins]
    titles = [("", "faults"), ("cost", "min-max"), *bins, ("", "rate")]
    rows = {
        label: (*_faults(result, label, rate), *_cells(notice, rate), _rate(rate.rate))
        for label, rate in notice.operators.items()
    }
    widths = [max(7, len(below), *(row[at].cell_len for row in rows.values())) for at, (_, below) in enumerate(titles)]
    widths[2] += 1  # a gap between the range of costs and the bins
    table = terminal.table(padding=0)
    widest = max(SHORTEST, width - sum(widths) - len(widths))
    table.add_column(" \n operator", no_wrap=True, min_width=SHORTEST, max_width=widest, overflow="ellipsis")
    for title, wide in zip(titles, widths, strict=True):
        table.add_column("\n".join(title), justify="right", no_wrap=True, min_width=wide)
    for label, row in rows.items():
        table.add_row(Text(f" {label}"), *row)
    return table


def _faults(result: Assessment, label: str, rate: OperatorRate) -> list[Text]:
    if rate.failed:
        return [Text("failed", style="red"), Text("")]
    costs = [fault.cost for fault in result.faults if fault.operator == label]
    if not costs:
        return [Text("none", style="dim"), Text("")]
    ends = dict.fromkeys(cost(end) for end in (min(costs), max(costs)))
    return [Text(str(rate.faults)), Text("-".join(ends), style="dim")]


def _cells(notice: Notice, rate: OperatorRate) -> list[Text]:
    """A cell for each bin of the notice, whichever bins the operator has."""
    found = {(each.low, each.high): each for each in rate.bins}
    return [
        _cell(found.get((each.low, each.high), NoticedBin(each.low, each.high, 0, 0, None))) for each in notice.bins
    ]


def _cell(each: NoticedBin | None) -> Text:
    return Text(NONE, style="dim") if each is None or not each.faults else Text(f"{each.noticed}/{each.faults}")


def _rate(rate: float | None) -> Text:
    return Text(NONE, style="dim") if rate is None else Text(percent(rate), style=color(rate))


def _legend(result: Assessment) -> Iterator[str]:
    notice, subject, said = result.notice, result.subject, CostPhrases(result.notice.unit)
    splits = ", ".join(f"{name} {info.inputs:,} ({info.metric_mean:.4g})" for name, info in subject.splits.items())
    originals = count(subject.originals, "original")
    yield f"{subject.name}: {subject.model}, {originals}; inputs (mean {subject.task.metric}): {splits}."
    if notice.rate is not None:
        counted = said.briefly(said.between(notice.bins[0].low, notice.bins[-1].high))
        yield f"cost: {cost_words(notice)}."
        yield f"faults: those that {counted}; {_outside(result)} others, cheaper or costlier, do not count."
    if result.headline_judge is not None:
        yield f"table of operators: what {named_judge(result.headline_judge)} notices."
    noticed = "noticed" if result.headline_judge is None else "paired"
    if subject.task.kind == "classification":
        yield f"{noticed}: McNemar's test of the fault against its own original, p < {notice.alpha:g}, one-sided."
    else:
        growth = f"raises the {subject.task.metric} of its original by more than {percent(TOLERATED)}"
        yield f"{noticed}: one-sided t-test of whether the fault {growth}, p < {notice.alpha:g}."
    alarms = notice.false_alarms
    if alarms is not None:
        yield f"false alarms: {alarms.noticed} of {alarms.changes} harmless changes of all weights are noticed."
    plan = [(planned.cost, planned.inputs) for planned in notice.plan if not unsure(planned, result)]
    if plan:
        (lost, first), *others = plan
        rest = "".join(f", {size:,} for {said.number(other)}" for other, size in others)
        yield f"tests needed for an 80% chance to notice {said.any_loss}: {first:,} for {said.amount(lost)}{rest}."
    for label, rate in notice.operators.items():
        if rate.reason:
            yield f"{label}: {rate.reason}."


def _outside(result: Assessment) -> int:
    return sum(rate.harmless + rate.drastic for rate in result.notice.operators.values())
