"""A repair as text for a terminal: inputs repaired and broken, with intervals."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.core.stats import Rate
from mutiny.reports import terminal
from mutiny.reports.formatting import NONE, count
from mutiny.reports.terminal import escape
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.repair.verdict import Change, Verdict

ANSWERS: dict[Verdict, str] = {
    "repaired": "Repaired",
    "not repaired": "No repair shown",
    "cannot tell": "Cannot tell",
}
"""How a sentence about a verdict begins."""


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
    fixed = _share(change.repaired, "failures", "fixed")
    lines = [f"[{style}]{ANSWERS[result.verdict]}[/]: {fixed}, {_share(change.broken, 'passes', 'broken')}."]
    if change.repaired.count + change.broken.count:
        low, high = change.gain_interval.low, change.gain_interval.high
        lines.append(
            f"Gain, fixed minus broken: {change.gain:+.2%} of held-out inputs (95%: {low:+.2%} to {high:+.2%})."
        )
    else:
        lines.append("No answer changes.")
    return Text.from_markup("\n".join(lines))


def _share(rate: Rate, inputs: str, done: str) -> str:
    if rate.value is None:
        return f"no held-out {inputs}"
    return f"{rate.value:.1%} of held-out {inputs} {done} ({rate.interval.low:.1%} to {rate.interval.high:.1%})"
