"""Stronger tests for a terminal: what slips through, what to label, what that is worth, and what can be left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import count
from mutiny.reports.smaller_test_set_text import between, falls, held_out_sentence, kills_sentence
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.measuring import LabelGain
from mutiny.verbs.strengthen.result import Strengthening

SHOWN, SHOWN_NAMES = 12, 5
"""Indices, and names of files, that are printed."""


def strengthen_text(result: Strengthening) -> RenderableType:
    """The whole terminal output."""
    parts: list[RenderableType] = [_head(result)]
    if result.measured:
        parts.append(_table(result))
        parts.extend(terminal.legend(_legend(result)))
    answers = [said for said in (_answer(result), _made(result), _subset(result)) if said is not None]
    parts.extend(Padding(said, (1, 1, 0, 1), expand=False) for said in answers)
    parts.extend(terminal.notes(result.notes, above=1))
    return Group(*parts, Text(""))


def _head(result: Strengthening) -> RenderableType:
    subject, pool = result.subject, result.subject.pool
    model = f"{escape(subject.model)}, {count(subject.originals, 'original')}"
    value = result.score.value
    score = "no score" if value is None else f"mutation score {value:.0%}"
    lines = [
        f"[bold]{escape(subject.name)}[/]  {model}",
        f"test: {subject.test:,} inputs, {score}" + ("" if pool is None else f"; pool: {pool.inputs:,} inputs"),
    ]
    if result.survivors:
        each = Counter(label for label, _ in result.survivors)
        named = ", ".join(f"{label} {number}" for label, number in each.items())
        number, one = len(result.survivors), len(result.survivors) == 1
        lines.append(f"{number:,} mutant{'s' * (not one)} that train kills slip{'s' * one} through: {escape(named)}")
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Strengthening) -> Table:
    table = terminal.table()
    table.add_column(" labels", justify="right", no_wrap=True)
    table.add_column("chosen by", no_wrap=True, overflow="ellipsis")
    for title in ("score", "95%", "gain", "strengthen ahead by"):
        table.add_column(title, justify="right", no_wrap=True)
    if result.before is not None:
        table.add_row(*map(Text, ("0", "(before)", *_score(result.before), "", "")), style="dim")
    last = 0
    for one in result.measured:
        own = one.ahead is None
        cells = (f"{one.budget:,}" if one.budget != last else "", one.method, *_score(one.score), *_gain(one))
        table.add_row(*map(Text, cells), style="bold" if own else "")
        last = one.budget
    return table


def _score(value: Repeated) -> tuple[str, str]:
    return f"{value.mean:.1%}", between(value) or "-"


def _gain(one: LabelGain) -> tuple[str, str]:
    if one.ahead is None:
        return f"{100 * one.gain.mean:+.1f}", ""
    interval = one.ahead.interval
    ends = "" if interval is None else f" ({_points(interval.low)} to {_points(interval.high)})"
    return f"{100 * one.gain.mean:+.1f}", f"{100 * one.ahead.mean:+.1f}{ends}"


def _points(value: float) -> str:
    """Scores cannot differ by more than all of it, whatever Student says."""
    return f"{100 * min(1.0, max(-1.0, value)):+.1f}"


def _legend(result: Strengthening) -> Iterator[str]:
    mutants, repeats = result.settings["mutants"], result.measured[0].score.n
    yield f"score: share killed of fresh mutants that train kills, {mutants} tried per operator;"
    yield "nothing was chosen for them." + (f" 95%: interval over {repeats} repeats." if repeats > 1 else "")
    yield "gain, ahead: points of the score, in the same repeats."


def _answer(result: Strengthening) -> Text | None:
    if not result.budgets:
        return None
    names = result.names
    most = SHOWN if names is None else SHOWN_NAMES
    shown = ", ".join(str(at) if names is None else escape(names[at]) for at in result.order[:most].tolist())
    more = f" and {len(result.order) - most:,} more" if len(result.order) > most else ""
    lines = [f"[bold]Label first[/]: {shown}{more}."]
    for budget, killed in result.predicted.items():
        tried, verb = count(len(result.tried), "survivor"), "is" if len(result.tried) == 1 else "are"
        lines.append(f"With {count(budget, 'label')}, {killed} of {tried} tried {verb} predicted to be killed.")
    return Text.from_markup("\n".join(lines))


def _made(result: Strengthening) -> Text | None:
    made = result.candidates
    if made is None:
        return None
    far = f", on average {made.distances['linf'].mean():.3g} (Linf) from an input of the pool" if made.distances else ""
    return Text.from_markup(
        f"[bold]Synthesized[/] {count(len(made), 'input')} for survivors that the pool cannot kill{far}. They are "
        "proposals: a person must label them, and they count in no score. --save FILE.npz writes them."
    )


def _subset(result: Strengthening) -> Text | None:
    small = result.subset
    if small is None:
        return None
    if not len(small):
        return Text("The test set kills no mutant, so there is no score that a smaller one could keep.")
    held, size = result.smaller, f"{len(small):,} of {small.of:,} tests kill all that the whole set kills"
    lines = [f"[bold]Enough[/]: {size}{_scores(small.score, small.score_of_all)}."]
    if falls(held):
        lines = [f"[bold]Fewer[/]: {size}{_scores(small.score, small.score_of_all)}, but less of other mutants."]
    lines.append(kills_sentence(len(small.kept), len(small.more), small.fresh))
    lines += [] if held is None else [held_out_sentence(held)]
    return Text.from_markup(" ".join(lines))


def _scores(part: float | None, whole: float | None) -> str:
    if part is None or whole is None:
        return ""
    return f" (score {part:.0%})" if round(part, 2) == round(whole, 2) else f" (score {part:.0%}, of all {whole:.0%})"
