"""The plan of an assessment as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from mutiny.reports import terminal
from mutiny.reports.formatting import count, duration
from mutiny.verbs.assess.planned_work import Planned

AFTER = ", after the originals are trained"
"""End of a sentence about a plan for which originals are trained first."""


def dry_run_text(plan: Sequence[Planned], name: str, originals: int, trained: bool) -> RenderableType:
    """The text of ``--dry-run``: faults and time of each operator.

    Args:
        plan: Estimated work of each operator.
        name: Name of the subject.
        originals: Number of originals.
        trained: Whether the originals are trained already.
    """
    table = terminal.table()
    table.add_column(" operator", no_wrap=True)
    table.add_column("level")
    for title in ("faults", "time"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("")
    for step in plan:
        tried = ("", "") if step.reason else (f"{step.configurations:,}", duration(step.seconds or 0.0))
        table.add_row(Text(f" {step.label}"), step.level, *tried, Text(step.reason, style="dim"))
    head = Text(f"{name}, {count(originals, 'original')}: plan only, nothing was run")
    legend = terminal.legend(
        (
            "faults: estimated number of faults to try until there are some of each cost.",
            "time: estimate for one worker and every input; samples usually suffice and take less time.",
        )
    )
    total = duration(sum(step.seconds or 0.0 for step in plan))
    summary = f"About {total} in all{'' if trained else AFTER}."
    return Group(Padding(head, (1, 1), expand=False), table, *legend, Padding(summary, (1, 1), expand=False))
