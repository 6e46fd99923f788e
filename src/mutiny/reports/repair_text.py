"""A repair as text for a terminal: inputs repaired and broken, with intervals."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.core.stats import Rate
from mutiny.reports import terminal
from mutiny.reports.formatting import NONE, count
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.verdict import Change


def repair_text(result: Repair) -> RenderableType:
    """The whole text."""
    parts: list[RenderableType] = [_head(result)]
    if result.target["failures"]:
        parts += [_table(result), Padding(_verdict(result), (1, 1, 0, 1), expand=False)]
    parts.extend(terminal.notes(result.notes))
    return Group(*parts, Text(""))


def _head(result: Repair) -> RenderableType:
    subject, target = result.subject, result.target
    failures = "fail" if "label" not in target else f"of class {target['label']} are taken for {target['said']}"
    lines = [
        f"[bold]{escape(subject.name)}[/]  {escape(subject.model)}",
        f"{target['failures']:,} of {count(subject.inputs, 'input')} {failures}; {escape(result.method)} changes "
        f"{count(result.weights, 'weight')}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Repair) -> Table:
    table = terminal.table()
    table.add_column(" inputs")
    for title in ("repaired", "broken", "correct before", "after"):
        table.add_column(title, justify="right", no_wrap=True)
    for role, change in result.changes.items():
        table.add_row(f" {role}", *_row(change), style="" if role == "held-out" else "dim")
    return table


def _row(change: Change) -> list[str]:
    correct = [f"{right / change.inputs:.2%}" if change.inputs else NONE for right in (change.before, change.after)]
    return [_of(change.repaired), _of(change.broken), *correct]


def _of(rate: Rate) -> str:
    return f"{rate.count:,} of {rate.total:,}"


def _verdict(result: Repair) -> Text:
    change = result.held_out
    style = "bold green" if result.repaired else "bold"
    verdict = f"[{style}]{result.verdict.capitalize()}[/]"
    lines = [f"{verdict}: on held-out inputs {_rate(change.repaired)} repaired, {_rate(change.broken)} broken;"]
    if change.repaired.count + change.broken.count:
        low, high = change.gain_interval.low, change.gain_interval.high
        lines.append(f"gain {100 * change.gain:+.2f} points of all (95%: {100 * low:+.2f} to {100 * high:+.2f}).")
    else:
        lines.append("no answer changes.")
    return Text.from_markup("\n".join(lines))


def _rate(rate: Rate) -> str:
    if rate.value is None:
        return "nothing"
    return f"{rate.value:.1%} ({rate.interval.low:.1%} to {rate.interval.high:.1%})"
