"""An attack as text for a terminal: success rates, and the effect of mutants on them."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import NONE
from mutiny.reports.terminal import escape
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE, LevelSummary, Nearer, Robustness, WaySummary

TITLES = {MUTANTS: "with mutants", ORIGINAL: "alone", BUDGET: "alone, same passes", SANE: "sane step"}
AGAINST = {BUDGET: "the same passes", SANE: "a sane step"}


def attack_text(result: Robustness) -> RenderableType:
    """The whole text."""
    parts: list[RenderableType] = [_head(result), _table(result)]
    parts.extend(terminal.legend(_legend(result)))
    if BUDGET in result.results[0].ways:
        effects = "\n".join(line for level in result.results for line in _effects(level))
        parts.append(Padding(Text.from_markup(effects), (1, 1, 0, 1), expand=False))
    parts.extend(terminal.notes(result.notes))
    return Group(*parts, Text(""))


def _head(result: Robustness) -> RenderableType:
    first = result.results[0].ways[MUTANTS]
    correct, total = first.of_correct.total, first.of_all.total
    lines = [
        f"[bold]{escape(result.subject.name)}[/]  {escape(result.subject.model)}",
        f"{escape(result.attack)} on {total:,} inputs, of which {correct:,} are answered correctly",
    ]
    if result.mutants:
        lines.append(f"{len(result.mutants)} mutants: {', '.join(result.mutants)}")
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Robustness) -> Table:
    table = terminal.table()
    table.add_column(" eps", justify="right", no_wrap=True)
    ways = [*result.results[0].ways]
    if len(ways) > 1:
        table.add_column("", overflow="fold")
    for title in ("fooled", "95%", "L2", "passes"):
        table.add_column(title, justify="right", no_wrap=True)
    for level in result.results:
        for row, name in enumerate(ways):
            distance = " nearest" if level.eps is None else f" {level.eps:.4g}"
            titles = [escape(TITLES.get(name, name))] if len(ways) > 1 else []
            table.add_row("" if row else distance, *titles, *_cells(level, level.ways[name]))
        table.add_section()
    return table


def _cells(level: LevelSummary, way: WaySummary) -> Iterator[str]:
    rate = way.of_correct
    yield NONE if rate.value is None else f"{rate.value:.1%}"
    yield NONE if rate.value is None else f"{100 * rate.interval.low:.0f} to {100 * rate.interval.high:.0f}"
    # JSON has no distances of single inputs, so a loaded result has no mean over those that every way fools.
    distance = way.shared_l2 if level.eps is None and way.seconds is not None else way.distance.get("l2")
    yield NONE if distance is None else f"{distance:.3g}"
    yield f"{way.passes:,}"


def _legend(result: Robustness) -> Iterator[str]:
    ways = result.results[0].ways
    yield "Fooled: share of correct answers that are lost, with its 95% interval."
    shared = " in every way" if result.results[0].eps is None and len(ways) > 1 and result.levels else ""
    yield f"L2: mean distance of those that are fooled{shared}."
    if BUDGET in ways:
        yield "Same passes: may use as many passes as the attack with mutants."
    elif ORIGINAL in ways:
        yield "This attack cannot use more passes, so the effect of the mutants cannot be stated."


def _effects(level: LevelSummary) -> Iterator[str]:
    """The effect of mutants, compared with the same number of passes and with a sane step."""
    distance = "" if level.eps is None else f"At {level.eps:.4g} "
    for name in (BUDGET, SANE):
        if name not in level.gains:
            continue
        yield f"{distance}{_gain(level, name)} against {AGAINST[name]}."
        nearer = level.nearer.get(name)
        if nearer is not None:
            yield f"{_nearer(nearer)} against {AGAINST[name]}."


def _gain(level: LevelSummary, over: str) -> str:
    gain, interval = level.gains[over].value, level.gains[over].interval
    effect = "help" if interval.low > 0 else "harm" if interval.high < 0 else "make no clear difference"
    points = f"{100 * gain:+.1f} points (95%: {100 * interval.low:+.1f} to {100 * interval.high:+.1f})"
    return f"[bold]mutants {effect}[/]: {points}"


def _nearer(nearer: Nearer) -> str:
    effect = "come as near" if not nearer.clear else "come nearer" if nearer.difference < 0 else "stay further away"
    ends = f"95%: {nearer.interval.low:+.3g} to {nearer.interval.high:+.3g}"
    return f"[bold]mutants {effect}[/]: L2 {nearer.difference:+.3g} ({ends}) on {nearer.inputs:,} that both fool"
