"""Suspects for a terminal: who, how suspicious, how sure, and what silencing them changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import MEASURES
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.suspects import Suspect
from mutiny.verbs.locate.synthesis import Synthesis

SURE = 0.05
SHORTEST, LISTED = 10, 40
"""Columns that a layer's name keeps, and those of a neuron in a list."""


def locate_text(result: Location) -> RenderableType:
    """The whole terminal output."""
    parts: list[RenderableType] = [_head(result)]
    if result.suspects:
        parts.append(_table(result.suspects))
        parts.extend(terminal.legend(_legend(result)))
    if result.by_class:
        parts.append(Padding(_classes(result), (1, 0, 0, 0), expand=False))
    if result.ablation is not None:
        parts.append(Padding(_silenced(result.ablation, len(result.suspects)), (1, 1, 0, 1), expand=False))
    parts.extend(terminal.notes(result.notes))
    return Group(*parts, Text(""))


def _head(result: Location) -> RenderableType:
    subject, label = result.subject, result.settings["label"]
    total = result.failing + result.passing
    of = "" if label is None else f" of class {label}"
    share = f" ({result.failing / total:.1%})" if total else ""
    lines = [
        f"[bold]{escape(subject.name)}[/]  {escape(subject.model)}",
        f"{result.failing:,} of {total:,} inputs{of} fail{share}; {subject.neurons:,} hidden neurons in "
        f"{len(subject.layers)} layer{'s' * (len(subject.layers) != 1)}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(suspects: Sequence[Suspect]) -> Table:
    table = terminal.table()
    least = max(cell_len(named(one, 0)) + 1 for one in suspects)
    table.add_column(" neuron", min_width=least)  # the only one that gives way
    for title in ("score", "95%", "on failures", "on passes", "q"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in suspects:
        style = "" if one.q_value <= SURE else "dim"
        table.add_row(Name(one), *(Text(cell) for cell in _row(one)), style=style)
    return table


@dataclass(frozen=True)
class Name:
    """A neuron in a table: where there is no room, the middle of its layer's name gives way, never its number."""

    one: Suspect

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """From the shortest form to the whole name."""
        return Measurement(cell_len(named(self.one, 0)) + 1, cell_len(named(self.one)) + 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(" " + named(self.one, options.max_width - 1), no_wrap=True)


def named(one: Suspect, width: int | None = None) -> str:
    """``layer[neuron]``, in so many columns if at least ten remain for the layer.

    >>> from types import SimpleNamespace
    >>> named(SimpleNamespace(layer="backbone.stage3.block12.conv", neuron=7), 22)
    'backbone.…ck12.conv[7]'
    """
    number = f"[{one.neuron}]"
    return shortened(one.layer, None if width is None else max(SHORTEST, width - len(number))) + number


def shortened(name: str, width: int | None) -> str:
    """A name in so many columns, its middle cut out."""
    if width is None or cell_len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[head + 1 - width :]}"


def _row(one: Suspect) -> list[str]:
    passes = "-" if one.on_passes is None else f"{one.on_passes:.0%}"
    between = f"{one.interval.low:.3g} to {one.interval.high:.3g}"
    return [f"{one.score:.3g}", between, f"{one.on_failures:.0%}", passes, f"{one.q_value:.2g}"]


def _legend(result: Location) -> Iterator[str]:
    kind = MEASURES.get(result.measure)  # none for a user's own
    both = kind is not None and kind.both_ways
    activity = "active or silent" if both else "silent" if result.settings["silent"] else "active"
    yield f"score: {result.measure}, high for neurons {activity} on failures; 95%: its interval."
    yield "on failures, on passes: share of these inputs on which it is active."
    yield f"q: expected share of false suspects among neurons with at most this q; dim above {SURE:g}."


def _classes(result: Location) -> Table:
    table = terminal.table()
    table.add_column(" class", justify="right")
    table.add_column("failures", justify="right")
    table.add_column("suspects", overflow="fold")
    for label, some in result.by_class.items():
        failing = some[0].ef + some[0].nf if some else 0
        if result.spectrum is not None:
            failing = result.spectrum.failing(label)
        names = ", ".join(named(one, LISTED) for one in some[:5]) or "-"
        more = f" and {len(some) - 5} more" if len(some) > 5 else ""
        table.add_row(f" {label}", f"{failing:,}", Text(names + more))
    return table


def _silenced(found: Ablation, count: int) -> Text:
    who = f"the {count} suspects" if count > 1 else "the suspect"
    mended, broken = (np.array([getattr(one, name) for one in found.random]) for name in ("mended", "broken"))
    lines = [
        f"[bold]Silencing[/] {who} mends {found.suspects.mended:,} of {found.failing:,} failures and breaks "
        f"{found.suspects.broken:,} of {found.passing:,} passes."
    ]
    if len(mended):
        lines.append(
            f"{len(mended)} random draws of as many others of those layers: {mended.mean():.1f} mended (most "
            f"{mended.max():,}; p {found.p_mended:.2g}), {broken.mean():.1f} broken (most {broken.max():,}; "
            f"p {found.p_broken:.2g})."
        )
    return Text.from_markup("\n".join(lines))


def synthesis_text(found: Synthesis) -> RenderableType:
    """What became of synthesized inputs."""
    far = {norm: float(values.mean()) for norm, values in found.distances.items()}
    lost = ~found.kept
    lines = [
        f"[bold]Synthesized[/] {len(found):,} inputs from passing ones: {int(found.succeeded.sum()):,} "
        f"({found.succeeded.mean():.1%}) fail{' and keep their label' if lost.any() else ''}; "
        f"{found.raised.mean():.1%} of the suspects respond more strongly."
    ]
    if lost.any():
        lines.append(
            f"{int(lost.sum()):,} ({lost.mean():.1%}) lost their label; {int((found.failed & lost).sum()):,} of "
            "these fail, which is not counted."
        )
    asked = found.settings.get("count", len(found))
    if len(found) < asked:
        lines.append(f"{asked:,} were requested, but no more inputs pass, or the others have classes without suspects.")
    lines.append(f"Mean distance: L1 {far['l1']:.3g}, L2 {far['l2']:.3g}, Linf {far['linf']:.3g}.")
    return Padding(Text.from_markup("\n".join(lines)), (0, 1, 1, 1), expand=False)
