"""A comparison as text for a terminal: the decision, what was compared, classes and slices, inputs that changed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.core.stats.comparison import ComparisonVerdict
from mutiny.reports import terminal
from mutiny.reports.formatting import MINUS, count, p_value
from mutiny.reports.terminal import escape
from mutiny.verbs.compare.changes import ChangedInput
from mutiny.verbs.compare.groups import GroupChange
from mutiny.verbs.compare.result import Comparison
from mutiny.verbs.compare.sentences import POINTS, margin_text

GROUPS, INPUTS, CONFUSIONS = 10, 5, 5
"""Number of groups, inputs and confusions that are shown; the JSON has more."""
STYLES = {ComparisonVerdict.WORSE: "bold red", ComparisonVerdict.CANNOT_TELL: "bold yellow"}


def compare_text(result: Comparison) -> RenderableType:
    """The whole text."""
    style = STYLES.get(result.verdict, "bold green")
    parts: list[RenderableType] = [
        Padding(Text(result.sentence, style=style), (1, 1, 1, 1), expand=False),
        Padding(_sides(result), (0, 1, 1, 1), expand=False),
    ]
    if changed := changed_groups(result):
        parts.append(_groups(result, changed[:GROUPS]))
        parts.extend(terminal.legend(_legend(changed)))
    parts.extend(
        Padding(Text(line), (1 if not number else 0, 1, 0, 1), expand=False)
        for number, line in enumerate(_lines(result))
    )
    parts.extend(terminal.notes(result.notes, above=1))
    return Group(*parts, Text(""))


def changed_groups(result: Comparison) -> list[GroupChange]:
    """The groups in which something changed, those that changed most surely first."""
    return [group for group in result.groups if group.broken or group.repaired]


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign.

    >>> signed(1.25), signed(-0.04), signed(-3)
    ('+1.2', '0.0', '−3.0')
    """
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", MINUS)


def mean_text(value: float, result: Comparison, digits: int = 2) -> str:
    """An accuracy, or a mean score."""
    return f"{value:.{digits}%}" if result.unit == POINTS else f"{value:.4g}"


def difference_text(value: float, result: Comparison) -> str:
    """The difference of a group in the unit of the comparison."""
    return signed(value) if result.unit == POINTS else f"{value:+.3g}".replace("-", MINUS)


def how(result: Comparison) -> str:
    """How the verdict came about."""
    test = "exact McNemar test" if result.unit == POINTS else "paired t-test"
    return (
        f"margin {margin_text(result.margin, result.unit)}; {test}, one-sided at {result.alpha:g}: "
        f"worse p {_p(result.p_value)}, better p {_p(result.p_better)}"
    )


def _p(value: float) -> str:
    text = p_value(value)
    return text if text.startswith("<") else f"= {text}"


def _sides(result: Comparison) -> Text:
    subject, means = result.subject, result.means
    name = subject.task.metric if result.unit != POINTS else "accuracy"
    return Text.from_markup(
        f"[bold]A[/]  {escape(subject.name)}  {escape(subject.model)}, {name} {mean_text(means['a'], result)}\n"
        f"[bold]B[/]  {escape(subject.other_name)}  {escape(subject.other_model)}, {name} "
        f"{mean_text(means['b'], result)}\n[dim]{escape(how(result))}[/]"
    )


def _groups(result: Comparison, groups: list[GroupChange]) -> Table:
    table = terminal.table()
    table.add_column(" group", no_wrap=True, overflow="ellipsis", max_width=30)
    for title in ("inputs", "A", "B", "change", "broken", "repaired", "p adj."):
        table.add_column(title, justify="right", no_wrap=True)
    for group in groups:
        means = (mean_text(mean, result, 1) for mean in (group.a, group.b))
        flips = f"{group.broken:,}", f"{group.repaired:,}"
        cells = (f"{group.inputs:,}", *means, difference_text(group.difference, result), *flips)
        surely = group.p_adjusted is not None and group.p_adjusted < result.alpha
        name = Text(f" {group.column} {group.group}")
        table.add_row(name, *cells, p_value(group.p_adjusted), style="" if surely else "dim")
    return table


def _legend(changed: list[GroupChange]) -> Iterator[str]:
    yield "p adj.: two-sided, corrected for the number of groups (Holm); dim: may be chance."
    if len(changed) > GROUPS:
        yield f"{count(len(changed) - GROUPS, 'more group')} changed; --json has them."


def _lines(result: Comparison) -> Iterator[str]:
    """Confusions and inputs that changed most."""
    if result.confusions:
        shown = "; ".join(
            f"{each.target} taken for {each.answer}: {each.a:,}, now {each.b:,}"
            for each in result.confusions[:CONFUSIONS]
        )
        yield f"Confusions that changed most, number of inputs: {shown}."
    if result.changed:
        shown = "; ".join(input_text(each) for each in result.changed[:INPUTS])
        yield f"Inputs that changed most: {shown}."


def input_text(each: ChangedInput) -> str:
    """A changed input in a few words."""
    target = "" if each.target is None else f", right is {each.target}"
    return f"{each.id} ({each.before} to {each.after}{target})"
