"""Suspects for a terminal: who, how suspicious, how sure, and what silencing them changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.localization.ablation import Ablation
from mutiny.localization.location import Location
from mutiny.localization.suspects import Suspect
from mutiny.localization.synthesis import Synthesis

SURE = 0.05


def location_text(result: Location) -> RenderableType:
    """Everything that a terminal shows."""
    parts: list[RenderableType] = [_head(result)]
    if result.suspects:
        parts.append(_table(result.suspects))
        parts.extend(Padding(Text(line, style="dim"), (0, 0, 0, 1), expand=False) for line in _legend(result))
    if result.by_class:
        parts.append(Padding(_classes(result), (1, 0, 0, 0), expand=False))
    if result.ablation is not None:
        parts.append(Padding(_silenced(result.ablation, len(result.suspects)), (1, 1, 0, 1), expand=False))
    notes = [Text.from_markup(f"[yellow]note[/] {escape(note)}") for note in result.notes]
    parts.extend(Padding(note, (0, 1), expand=False) for note in notes)
    return Group(*parts, Text(""))


def _head(result: Location) -> RenderableType:
    subject, label = result.subject, result.settings["label"]
    total = result.failing + result.passing
    of = "" if label is None else f" of class {label}"
    share = f" ({result.failing / total:.1%})" if total else ""
    lines = [
        f"[bold]{escape(str(subject['name']))}[/]  {escape(subject['model'])}",
        f"{result.failing:,} of {total:,} inputs{of} fail{share}; {subject['neurons']:,} hidden neurons in "
        f"{len(subject['layers'])} layer{'s' * (len(subject['layers']) != 1)}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(suspects: Sequence[Suspect]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(" neuron", overflow="ellipsis")
    for title in ("score", "95%", "on failures", "on passes", "q"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in suspects:
        style = "" if one.q_value <= SURE else "dim"
        table.add_row(*(Text(cell) for cell in _row(one)), style=style)
    return table


def _row(one: Suspect) -> list[str]:
    passes = "-" if one.on_passes is None else f"{one.on_passes:.0%}"
    between = f"{one.interval.low:.3g} to {one.interval.high:.3g}"
    cells = [f"{one.score:.3g}", between, f"{one.on_failures:.0%}", passes, f"{one.q_value:.2g}"]
    return [f" {one.layer}[{one.neuron}]", *cells]


def _legend(result: Location) -> Iterator[str]:
    activity = "silent" if result.settings["silent"] else "active"
    yield f"score: {result.measure}; higher is more suspicious, {activity} neurons are; 95%: its interval."
    yield "on failures, on passes: share of failing and of passing inputs on which it is active."
    yield f"q: share of neurons at least as suspicious by chance alone; dim above {SURE:g}."


def _classes(result: Location) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(" class", justify="right")
    table.add_column("failures", justify="right")
    table.add_column("suspects")
    for label, some in result.by_class.items():
        failing = result.spectrum.failing(label)
        names = ", ".join(f"{one.layer}[{one.neuron}]" for one in some[:5]) or "-"
        more = f" and {len(some) - 5} more" if len(some) > 5 else ""
        table.add_row(f" {label}", f"{failing:,}", Text(names + more))
    return table


def _silenced(found: Ablation, count: int) -> Text:
    who = f"the {count} suspects" if count > 1 else "the suspect"
    mended, broken = (np.array([getattr(one, name) for one in found.random]) for name in ("mended", "broken"))
    lines = [f"[bold]Silencing[/] {who} mends {found.suspects.mended:,} of {found.failing:,} failures and breaks "
             f"{found.suspects.broken:,} of {found.passing:,} passes."]  # fmt: skip
    if len(mended):
        lines.append(
            f"{len(mended)} times as many others of those layers: {mended.mean():.1f} mended (most {mended.max():,}; "
            f"p {found.p_mended:.2g}), {broken.mean():.1f} broken (most {broken.max():,}; p {found.p_broken:.2g})."
        )
    return Text.from_markup("\n".join(lines))


def synthesis_text(found: Synthesis) -> RenderableType:
    """What became of synthesised inputs."""
    far = {norm: float(values.mean()) for norm, values in found.distances.items()}
    lost = ~found.kept
    lines = [
        f"[bold]Synthesised[/] {len(found):,} inputs from passing ones: {int(found.succeeded.sum()):,} "
        f"({found.succeeded.mean():.1%}) fail{' and keep their label' if lost.any() else ''}; "
        f"{found.raised.mean():.1%} of the suspects say more."
    ]
    if lost.any():
        lines.append(
            f"{int(lost.sum()):,} ({lost.mean():.1%}) have lost their label; {int((found.failed & lost).sum()):,} of "
            "these fail, which is not counted."
        )
    lines.append(f"Mean distance: L1 {far['l1']:.3g}, L2 {far['l2']:.3g}, Linf {far['linf']:.3g}.")
    return Padding(Text.from_markup("\n".join(lines)), (0, 1, 1, 1), expand=False)
