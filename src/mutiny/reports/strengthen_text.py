"""A strengthening as text for a terminal: the decision, then the table behind it, then how it was done."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import count, percent
from mutiny.reports.strengthen_sentences import headline, loses, points, smaller, unclear
from mutiny.reports.terminal import escape
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.strengthen.held_out import DRAWS, OWN, LabelGain, RateChange
from mutiny.verbs.strengthen.result import Strengthening

SHOWN, SHOWN_NAMES = 12, 5
"""Numbers of indices and of file names to print."""


def strengthen_text(result: Strengthening) -> RenderableType:
    """The whole text."""
    parts: list[RenderableType] = [Padding(_answer(result), (1, 1), expand=False)]
    if result.measured:
        parts.append(_table(result))
        parts.append(Text(""))
    parts.extend(terminal.legend(_legend(result)))
    parts.extend(terminal.notes(result.notes, above=1))
    return Group(*parts, Text(""))


def _answer(result: Strengthening) -> Text:
    lines = [f"[bold {_color(result)}]{escape(headline(result))}[/]"]
    if result.budgets:
        lines.append(_first(result))
        lines.append(escape(smaller(result)))
    if result.candidates is not None:
        lines.append(_synthesized(result))
    return Text.from_markup("\n".join(filter(None, lines)))


def _color(result: Strengthening) -> str:
    if not result.budgets:
        return "yellow" if loses(result) or result.notice.rate is None else "green"
    own = result.gain(OWN, result.budgets[-1])
    return "yellow" if own is None or unclear(own.gain) else "green"


def _first(result: Strengthening) -> str:
    names = result.names
    most = SHOWN if names is None else SHOWN_NAMES
    shown = ", ".join(str(at) if names is None else escape(names[at]) for at in result.order[:most].tolist())
    more = f" and {len(result.order) - most:,} more" if len(result.order) > most else ""
    return f"Label first: {shown}{more}."


def _synthesized(result: Strengthening) -> str:
    candidates = result.candidates
    assert candidates is not None
    distance = ""
    if candidates.distances:
        distance = f", on average {candidates.distances['linf'].mean():.3g} (Linf) from an input of the pool"
    return (
        f"{count(len(candidates), 'input')} synthesized for faults that no pool input reveals{distance}. They "
        "are proposals: a person must label them, and they are not included in any rate. --save FILE.npz writes them."
    )


def _table(result: Strengthening) -> Table:
    table = terminal.table()
    table.add_column(" labels", justify="right", no_wrap=True)
    table.add_column("chosen by", no_wrap=True, overflow="ellipsis")
    for title in ("notice rate", "gain (95%)", "strengthen ahead (95%)"):
        table.add_column(title, justify="right", no_wrap=True)
    if result.before is not None:
        table.add_row(*map(Text, ("0", "(before)", f"{result.before.rate:.1%}", "", "")), style="dim")
    last = 0
    for gain in result.measured:
        budget = f"{gain.budget:,}" if gain.budget != last else ""
        table.add_row(*map(Text, (budget, *_cells(gain))), style="bold" if gain.method == OWN else "")
        last = gain.budget
    return table


def _cells(gain: LabelGain) -> tuple[str, ...]:
    return gain.method, f"{gain.rate:.1%}", _change(gain.gain), "" if gain.ahead is None else _change(gain.ahead)


def _change(change: RateChange) -> str:
    ends = change.interval
    return points(change.value) + ("" if ends is None else f" ({points(ends.low)} to {points(ends.high)})")


def _legend(result: Strengthening) -> Iterator[str]:
    subject, pool, bins = result.subject, result.subject.pool, result.notice.bins
    sizes = f"{subject.test:,} tests" + ("" if pool is None else f", pool of {pool.inputs:,}")
    yield f"{subject.name}: {subject.model}, {count(subject.originals, 'original')}; {sizes}."
    if bins:
        missed = f"{result.notice.faults - result.notice.noticed:,} of {count(result.notice.faults, 'fault')}"
        said = CostPhrases(result.unit)
        costs = said.cost(said.between(bins[0].low, bins[-1].high))
        yield f"the assessment: {percent(result.notice.rate)} noticed; {missed} that {costs} are missed."
    if result.before is not None:
        over = "originals" if subject.originals > 1 else "random choices"
        faults = f"{count(result.before.faults, 'fault')} of other seeds"
        if result.measured:
            yield f"The rates are for {faults}; gains are in points, with 95% intervals over {over}."
        elif result.smaller is not None:
            yield f"held-out faults: {faults}; 95%: over {over}."
    if any(gain.method == "random" for gain in result.measured):
        yield f"random: mean of {DRAWS} random choices."
