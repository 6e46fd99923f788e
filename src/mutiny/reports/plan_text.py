"""A plan for a terminal: what each operator would take at most."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from mutiny.reports import terminal
from mutiny.verbs.assess.dry_run import Planned, rounded


def plan_text(planned: Sequence[Planned], name: str, originals: int) -> RenderableType:
    """The whole terminal output."""
    table = terminal.table()
    table.add_column(" operator", no_wrap=True)
    table.add_column("level")
    for title in ("mutants", "trainings", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for one in planned:
        counts = ("", "", "") if one.reason else _counts(one)
        table.add_row(Text(f" {one.label}"), one.level, *counts, Text(one.reason, style="dim"))
    total = sum(one.seconds or 0.0 for one in planned)
    trainings = sum(one.trainings for one in planned)
    summary = f"At most {trainings:,} trainings and about {rounded(total)} in all, after the originals are trained."
    head = f"{escape(name)}, {originals} original{'s' * (originals != 1)}: plan only, nothing was run"
    lines = (
        "mutants: at most, over all sets of inputs; trainings: each is kept, and shared by the sets.",
        "time: at most; searches end earlier, large sets are screened, epochs and patience share trainings.",
    )
    legend = terminal.legend(lines)
    return Group(Padding(head, (1, 1), expand=False), table, *legend, Padding(summary, (1, 1), expand=False))


def _counts(one: Planned) -> tuple[str, str, str]:
    trainings = f"{one.trainings:,}" if one.trainings else "-"
    return f"{one.configurations:,}", trainings, "-" if one.seconds is None else rounded(one.seconds)
