"""``mutiny operators``."""

from __future__ import annotations

from typing import Annotated

import typer


def operators(
    code: Annotated[str | None, typer.Argument(help="Explain this one with all its parameters.")] = None,
) -> None:
    """Which faults can be injected, and where each was defined."""
    import inspect

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from mutiny.operators import ALL
    from mutiny.operators.parsing import as_operators

    console = Console()
    if code is not None:
        for one in as_operators(code):
            console.print(f"[bold]{one.code}[/]  {one.title}  [dim]({one.source})[/]\n", highlight=False)
            console.print(f"{_reflowed(inspect.getdoc(type(one)) or '')}\n", markup=False, highlight=False)
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for title in ("code", "what it does", "strength", "defined in"):
        table.add_column(title)
    for kind in ALL:
        strength = next(iter(kind.tunable), None)
        bounds = f"{strength} {kind.tunable[strength][0]:g} to {kind.tunable[strength][1]:g}" if strength else "-"
        summary = (inspect.getdoc(kind) or "").split(". ")[0].split(": ")[0].replace("``", "")
        table.add_row(kind.code, summary, bounds, kind.source.partition(";")[0])
    console.print(table)
    console.print(
        "\nParameters go in brackets: NI(ratio=0.1, direction=incoming). `mutiny operators NI` explains them."
    )


def _reflowed(text: str) -> str:
    """A docstring for any width: paragraphs on one line each, lists as they are, no markup."""
    parts = text.replace("``", "").split("\n\n")
    return "\n\n".join(part if part.startswith("Args:") else " ".join(part.split()) for part in parts)
