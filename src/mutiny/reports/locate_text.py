"""Suspects as text for a terminal: scores, q-values, and the effect of silencing them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import NONE, count
from mutiny.reports.terminal import escape
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import MEASURES
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.suspects import Suspect
from mutiny.verbs.locate.synthesis import Synthesis

SURE = 0.05
SHORTEST, LISTED = 10, 40
"""Minimum width of a layer's name, and width of a neuron's name in a list."""


def locate_text(result: Location) -> RenderableType:
    """The whole text."""
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
    subject, label = result.subject, result.settings.get("label")
    total = result.failing + result.passing
    of_class = "" if label is None else f" of class {label}"
    share = f" ({result.failing / total:.1%})" if total else ""
    lines = [
        f"[bold]{escape(subject.name)}[/]  {escape(subject.model)}",
        f"{result.failing:,} of {count(total, 'input')}{of_class} fail{share}; "
        f"{count(subject.neurons, 'hidden neuron')} in {count(len(subject.layers), 'layer')}",
    ]
    return Padding(Text.from_markup("\n".join(lines)), (1, 1), expand=False)


def _table(suspects: Sequence[Suspect]) -> Table:
    table = terminal.table()
    least = max(cell_len(neuron_name(suspect, 0)) + 1 for suspect in suspects)
    table.add_column(" neuron", min_width=least)  # all other columns keep their width
    for title in ("score", "95%", "on failures", "on passes", "q"):
        table.add_column(title, justify="right", no_wrap=True)
    for suspect in suspects:
        style = "" if suspect.q_value <= SURE else "dim"
        table.add_row(NeuronName(suspect), *(Text(cell) for cell in _row(suspect)), style=style)
    return table


@dataclass(frozen=True)
class NeuronName:
    """A neuron in a table.

    In a narrow column, the middle of the layer's name is cut out, never the neuron's number.
    """

    suspect: Suspect

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Widths of the shortest form and of the whole name."""
        return Measurement(cell_len(neuron_name(self.suspect, 0)) + 1, cell_len(neuron_name(self.suspect)) + 1)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(" " + neuron_name(self.suspect, options.max_width - 1), no_wrap=True)


def neuron_name(suspect: Suspect, width: int | None = None) -> str:
    """``layer[neuron]``, shortened to a width that leaves at least ten columns for the layer.

    >>> from types import SimpleNamespace
    >>> neuron_name(SimpleNamespace(layer="backbone.stage3.block12.conv", neuron=7), 22)
    'backbone.…ck12.conv[7]'
    """
    number = f"[{suspect.neuron}]"
    return shortened(suspect.layer, None if width is None else max(SHORTEST, width - len(number))) + number


def shortened(name: str, width: int | None) -> str:
    """A name with its middle cut out, so that it fits the width."""
    if width is None or cell_len(name) <= width:
        return name
    head = (width - 1) // 2
    return f"{name[:head]}…{name[head + 1 - width :]}"


def _row(suspect: Suspect) -> list[str]:
    passes = NONE if suspect.on_passes is None else f"{suspect.on_passes:.0%}"
    between = f"{suspect.interval.low:.3g} to {suspect.interval.high:.3g}"
    return [f"{suspect.score:.3g}", between, f"{suspect.on_failures:.0%}", passes, f"{suspect.q_value:.2g}"]


def _legend(result: Location) -> Iterator[str]:
    kind = MEASURES.get(result.measure)  # None for a measure that the user wrote
    both = kind is not None and kind.both_ways
    activity = "active or silent" if both else "silent" if result.settings.get("silent") else "active"
    yield f"score: {result.measure}, high for neurons {activity} on failures; 95%: its interval."
    yield "on failures, on passes: share of these inputs on which it is active."
    yield f"q: false discovery rate if all neurons up to this q are called suspects; dimmed above {SURE:g}."


def _classes(result: Location) -> Table:
    table = terminal.table()
    table.add_column(" class", justify="right")
    table.add_column("failures", justify="right")
    table.add_column("suspects", overflow="fold")
    for label, suspects in result.by_class.items():
        failing = suspects[0].ef + suspects[0].nf if suspects else 0
        if result.spectrum is not None:
            failing = result.spectrum.failing(label)
        names = ", ".join(neuron_name(suspect, LISTED) for suspect in suspects[:5]) or NONE
        more = f" and {len(suspects) - 5} more" if len(suspects) > 5 else ""
        table.add_row(f" {label}", f"{failing:,}", Text(names + more))
    return table


def _silenced(ablation: Ablation, suspects: int) -> Text:
    who = f"the {suspects} suspects" if suspects > 1 else "the suspect"
    fixed, broken = (np.array([getattr(draw, name) for draw in ablation.random]) for name in ("mended", "broken"))
    lines = [
        f"[bold]Silencing[/] {who} fixes {ablation.suspects.mended:,} of {count(ablation.failing, 'failure')} and "
        f"breaks {ablation.suspects.broken:,} of {count(ablation.passing, 'pass', 'passes')}."
    ]
    if len(fixed):
        lines.append(
            f"{random_draws(suspects, len(fixed))}: fixes {fixed.mean():.1f} on average (at most {fixed.max():,}; "
            f"p {ablation.p_mended:.2g}), breaks {broken.mean():.1f} (at most {broken.max():,}; "
            f"p {ablation.p_broken:.2g})."
        )
    return Text.from_markup("\n".join(lines))


def random_draws(neurons: int, draws: int) -> str:
    """What was done for comparison with the suspects.

    >>> random_draws(3, 20)
    'Silencing 3 random other neurons of the same layers, 20 times'
    >>> random_draws(1, 1)
    'Silencing 1 random other neuron of the same layer, once'
    """
    several = "s" * (neurons > 1)
    times = "once" if draws == 1 else f"{draws} times"
    return f"Silencing {neurons} random other neuron{several} of the same layer{several}, {times}"


def synthesis_text(synthesis: Synthesis) -> RenderableType:
    """The text about synthesized inputs: how many fail, and their distances."""
    distances = {norm: float(values.mean()) for norm, values in synthesis.distances.items()}
    lost = ~synthesis.kept
    lines = [
        f"[bold]Synthesized[/] {count(len(synthesis), 'input')} from passing ones: {int(synthesis.succeeded.sum()):,} "
        f"({synthesis.succeeded.mean():.1%}) fail{' and keep their label' if lost.any() else ''}; "
        f"{synthesis.raised.mean():.1%} of the suspects respond more strongly."
    ]
    if lost.any():
        lines.append(
            f"{int(lost.sum()):,} ({lost.mean():.1%}) lost their label; {int((synthesis.failed & lost).sum()):,} of "
            "these fail, which is not counted."
        )
    requested = synthesis.settings.get("count", len(synthesis))
    if len(synthesis) < requested:
        lines.append(f"{requested:,} were requested, but all other inputs fail or belong to classes without suspects.")
    lines.append(f"Mean distance: L1 {distances['l1']:.3g}, L2 {distances['l2']:.3g}, Linf {distances['linf']:.3g}.")
    return Padding(Text.from_markup("\n".join(lines)), (0, 1, 1, 1), expand=False)
