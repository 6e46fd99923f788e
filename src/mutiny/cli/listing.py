"""Lists of what can be named on the command line, and explanations of each entry."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import Any

from mutiny.reports import terminal


def explain(instances: Iterable[Any]) -> None:
    """Print title, source and the whole docstring of each instance."""
    console = terminal.Output()
    for instance in instances:
        console.print(f"[bold]{instance.code}[/]  {instance.title}  [dim]({instance.source})[/]\n", highlight=False)
        console.print(f"{_reflowed(inspect.getdoc(type(instance)) or '')}\n", markup=False, highlight=False)


def show(titles: Sequence[str], rows: Iterable[Sequence[str]], hint: str) -> None:
    """Print a table, and a hint below it."""
    console = terminal.Output()
    table = terminal.table()
    for title in titles:
        table.add_column(title, no_wrap=title == "code")
    for row in rows:
        table.add_row(*row)
    console.print(table)
    console.print(f"\n{hint}")


def first_statement(kind: type[Any]) -> str:
    """The first statement of a docstring, for a table."""
    first = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    sentence = " ".join(first.split()).split(". ")[0].split(": ")[0].split("; ")[0]
    return sentence.replace("``", "").rstrip(".")


def _reflowed(text: str) -> str:
    """A docstring for any width: one line per paragraph, lists unchanged, no markup."""
    parts = text.replace("``", "").split("\n\n")
    return "\n\n".join(part if part.startswith("Args:") else " ".join(part.split()) for part in parts)
