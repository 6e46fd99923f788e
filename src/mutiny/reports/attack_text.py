"""An attack for a terminal: who was fooled, and whether mutants had a part in it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.attacks.result import BUDGET, MUTANTS, ORIGINAL, SANE, Level, Robustness
from mutiny.stats import Rate

TITLES = {MUTANTS: "with mutants", ORIGINAL: "alone", BUDGET: "alone, same passes", SANE: "sane step"}


def attack_text(result: Robustness) -> RenderableType:
    """Everything that a terminal shows."""
    parts: list[RenderableType] = [_head(result), _table(result)]
    parts.extend(Padding(Text(line, style="dim"), (0, 0, 0, 1), expand=False) for line in _legend(result))
    if BUDGET in result.levels[0].ways:
        parts.append(Padding(Text.from_markup("\n".join(map(_verdict, result.levels))), (1, 1, 0, 1), expand=False))
    notes = [Text.from_markup(f"[yellow]note[/] {escape(note)}") for note in result.notes]
    parts.extend(Padding(note, (0, 1), expand=False) for note in notes)
    return Group(*parts, Text(""))


def _head(result: Robustness) -> RenderableType:
    correct, total = int(result.levels[0].correct.sum()), len(result.indices)
    lines = [
        f"[bold]{escape(str(result.subject['name']))}[/]  {escape(result.subject['model'])}",
        f"{escape(result.attack)} on {total:,} inputs, of which {correct:,} are answered correctly",
    ]
    if result.mutants:
        lines.append(f"{len(result.mutants)} mutants: {', '.join(result.mutants)}")
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Robustness) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(" eps", justify="right", no_wrap=True)
    ways = [*result.levels[0].ways]
    for way in ways:
        table.add_column(TITLES.get(way, way) if len(ways) > 1 else "fooled", justify="right")
    table.add_column("L2", justify="right", no_wrap=True)
    for level in result.levels:
        rates = [_share(one.of_correct(level.correct)) for one in level.ways.values()]
        main = level.ways[MUTANTS]
        far = f"{main.distances['l2'][main.fooled].mean():.3g}" if main.fooled.any() else "-"
        table.add_row(" nearest" if level.eps is None else f" {level.eps:.4g}", *rates, far)
    return table


def _legend(result: Robustness) -> Iterator[str]:
    yield "Share of correct answers that are lost, with its 95% interval."
    yield f"L2: mean distance of inputs that fool{', with mutants' * bool(result.mutants)}."


def _share(rate: Rate) -> str:
    if rate.value is None:
        return "-"
    return f"{rate.value:.1%} ({100 * rate.interval.low:.0f} to {100 * rate.interval.high:.0f})"


def _verdict(level: Level) -> str:
    gain, interval = level.gain()
    said = "help" if interval.low > 0 else "harm" if interval.high < 0 else "make no clear difference"
    where = "" if level.eps is None else f"At {level.eps:.4g} "
    points = f"{100 * gain:+.1f} points (95%: {100 * interval.low:+.1f} to {100 * interval.high:+.1f})"
    return f"{where}[bold]mutants {said}[/]: {points} against the same passes."
