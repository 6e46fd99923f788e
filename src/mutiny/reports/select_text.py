"""A selection as text for a terminal: inputs to label, and the quality of the methods if labels are known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import NONE
from mutiny.reports.terminal import escape
from mutiny.verbs.select.result import Ranking, Selection

SHOWN = 12
"""Number of indices to print."""
SHOWN_NAMES = 5
"""Number of file names to print."""
SHORTEST_BAR, SHORTEST_NAME = len("faults found"), 10


def select_text(result: Selection, width: int = 80) -> RenderableType:
    """The whole text."""
    parts: list[RenderableType] = [_head(result)]
    graded = any(ranking.quality is not None for ranking in result.rankings)
    if graded:
        parts.append(_table(result, width))
    elif len(result.rankings) > 1:
        parts.append(_in_common(result))
    parts.extend(terminal.legend(_legend(result, graded)))
    parts.append(Padding(_answer(result, graded), (1, 1, 0, 1), expand=False))
    parts.extend(terminal.notes(notes_of(result.notes, [ranking.notes for ranking in result.rankings])))
    return Group(*parts, Text(""))


def _head(result: Selection) -> RenderableType:
    subject, pool = result.subject, result.subject.pool
    lines = [
        f"[bold]{escape(subject.name)}[/]  {escape(subject.model)}",
        f"pool: {pool.inputs:,} inputs; budget: {result.budget:,} ({100 * result.budget / pool.inputs:.3g}%)",
    ]
    if pool.wrong is not None:
        share = pool.wrong / pool.inputs
        lines[1] += f"; the network gets {pool.wrong:,} wrong ({share:.1%})"
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(result: Selection, width: int) -> Table:
    repeated = any(ranking.repeated for ranking in result.rankings)
    titles = ["FDR", *(["+-"] if repeated else []), "APFD", "RAUC", "sec."]
    ranked = sorted(result.rankings, key=lambda ranking: -_fdr(ranking))
    rows = [(f" {ranking.method}", _cells(ranking, repeated)) for ranking in ranked]
    for name, values in result.references.items():
        shown = [_percent(values["fdr"]), *([""] if repeated else []), _percent(values["apfd"])]
        rows.append((f" ({name})", [*shown, _percent(values["rauc"]), ""]))
    widths = [max(map(len, column)) for column in zip(titles, *(cells for _, cells in rows), strict=True)]
    remaining = width - sum(widths) - 3 * (len(widths) + 1)  # for names and bars
    longest = max(SHORTEST_NAME, min(max(len(name) for name, _ in rows), remaining - SHORTEST_BAR))
    bar = max(SHORTEST_BAR, min(40, remaining - longest))
    table = terminal.table()
    table.add_column(" method", no_wrap=True, width=longest, overflow="ellipsis")
    for title, column in zip(titles, widths, strict=True):
        table.add_column(title, justify="right", no_wrap=True, width=column)
    table.add_column("faults found", no_wrap=True, width=bar)
    best = result.references.get("ideal", {}).get("fdr") or 1.0
    shares = [_fdr(ranking) / best for ranking in ranked]
    shares += [(values["fdr"] or 0) / best for values in result.references.values()]
    for place, ((name, cells), share) in enumerate(zip(rows, shares, strict=True)):
        is_method = place < len(ranked)  # the others are references
        filled = Text(_bar(share, bar), style=_color(share) if is_method else "dim")
        table.add_row(*(Text(cell) for cell in (name, *cells)), filled, style="" if is_method else "dim")
    return table


def _cells(ranking: Ranking, repeated: bool) -> list[str]:
    quality, cells = ranking.quality, [_percent(_fdr(ranking))]
    if repeated:
        interval = ranking.repeated["fdr"].interval
        cells.append("" if interval is None else f"{(interval.high - interval.low) / 2:.1%}")
    area = quality.rauc.value if quality is not None and quality.rauc is not None else None
    return [*cells, _percent(quality.apfd if quality else None), _percent(area), f"{ranking.seconds:.1f}"]


def _in_common(result: Selection) -> Table:
    """How far the methods agree, which is all that is known without labels."""
    first = set(result.chosen.tolist())
    table = terminal.table()
    table.add_column(" method", no_wrap=True, min_width=14, overflow="ellipsis")
    for title in ("in common", "sec."):
        table.add_column(title, justify="right", no_wrap=True)
    for ranking in result.rankings:
        shared = len(first & set(ranking.order[: result.budget].tolist())) / len(first)
        table.add_row(*(Text(cell) for cell in (f" {ranking.method}", f"{shared:.1%}", f"{ranking.seconds:.1f}")))
    return table


def _fdr(ranking: Ranking) -> float:
    if ranking.repeated:
        return ranking.repeated["fdr"].mean
    return ranking.quality.fdr if ranking.quality is not None else 0.0


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{value:.1%}"


def _bar(share: float, width: int) -> str:
    """A bar in steps of an eighth of a character.

    >>> _bar(0.5, 4)
    '██'
    """
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    return "█" * (eighths // 8) + (" ▏▎▍▌▋▊▉"[eighths % 8] if eighths % 8 else "")


def _color(share: float) -> str:
    return "green" if share >= 0.6 else "yellow" if share >= 0.3 else "red"


def _legend(result: Selection, graded: bool) -> Iterator[str]:
    if graded:
        yield f"FDR: share of the first {result.budget:,} inputs that the network gets wrong."
        if any(ranking.repeated for ranking in result.rankings):
            yield f"+-: half of its 95% interval over {result.settings['repeats']} repeats with other seeds."
        yield "APFD: how early the order finds the wrong inputs; a random order has 50%."
        rauc = next((r.quality.rauc for r in result.rankings if r.quality is not None and r.quality.rauc), None)
        if rauc is not None:
            yield f"RAUC: area under the fault types found up to 20% of the pool, of {rauc.total} possible."
    elif len(result.rankings) > 1:
        first = result.rankings[0].method
        yield f"in common: share of the first {result.budget:,} inputs that {first} also chooses."
    if len(result.rankings) > 1:
        yield "sec.: seconds; shared work is counted for the first method that needs it."
    for name, reason in result.skipped.items():
        yield f"{name} is left out: {reason}."


def _answer(result: Selection, graded: bool) -> Text:
    most, names = SHOWN if result.names is None else SHOWN_NAMES, result.names
    indices = result.chosen[:most].tolist()
    shown = ", ".join(str(index) if names is None else escape(names[index]) for index in indices)
    more = f" and {result.budget - most:,} more" if result.budget > most else ""
    first = result.rankings[0]
    text = f"[bold]Label first[/] (by {escape(first.method)}): {shown}{more}"
    if not graded:
        text += ".\n--indices FILE writes them all, --json FILE everything."
    return Text.from_markup(text)


def notes_of(notes: Sequence[str], methods: Sequence[Sequence[str]]) -> Iterator[str]:
    """The notes to show on a page and in a terminal.

    Args:
        notes: Notes of the selection.
        methods: Notes of each method.
    """
    yield from notes
    yield from methods[0] if len(methods) == 1 else _read_points(methods)


def _read_points(methods: Sequence[Sequence[str]]) -> Iterator[str]:
    """Where several methods read features, each place once; their other notes are only in the JSON."""
    codes_by_place: dict[str, list[str]] = {}
    for notes in methods:
        for note in notes:
            code, reads, place = note.partition(" reads ")
            if reads and " " not in code and code not in codes_by_place.get(place, ()):
                codes_by_place.setdefault(place, []).append(code)
    for place, codes in codes_by_place.items():
        yield f"{', '.join(codes)} read{'s' * (len(codes) == 1)} {place}"
