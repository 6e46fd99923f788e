"""Lists of what can be named on the command line, and explanations of each entry."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from rich.table import Table
from rich.text import Text

from mutiny.cli.streams import say
from mutiny.core.registry import Registry
from mutiny.reports import terminal

ENTRY = re.compile(r"^    (\w+): (.*(?:\n {8,}.*)*)", re.MULTILINE)
"""A parameter in the ``Args`` section of a docstring, and what is said about it."""
WIDEST_DEFAULT = 20


def explain(instances: Iterable[Any]) -> None:
    """Print title, source, docstring and parameters of each instance, in the width of the terminal."""
    console = terminal.Output()
    for instance in instances:
        console.print(f"[bold]{instance.code}[/]  {instance.title}  [dim]({instance.source})[/]\n", highlight=False)
        for part in inspect.cleandoc(type(instance).__doc__ or "").replace("``", "").split("\n\n"):
            if part.startswith("Args:"):
                console.print(_parameters(type(instance), part))
                console.print()
            else:
                console.print(f"{' '.join(part.split())}\n", markup=False, highlight=False)


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


def show_refused(registry: Registry[Any]) -> None:
    """Say on the error stream which classes of installed packages are left out, and why."""
    for error in registry.refused:
        say(f"left out: {error}")


def first_statement(kind: type[Any]) -> str:
    """The first statement of a docstring, for a table; the title of a class without one."""
    first = inspect.cleandoc(kind.__doc__ or kind.title).partition("\n\n")[0]
    sentence = " ".join(first.split()).split(". ")[0].split(": ")[0].split("; ")[0]
    return sentence.replace("``", "").rstrip(".")


def _parameters(kind: type[Any], section: str) -> Table:
    """The parameters of a dataclass, with the defaults as they are typed on the command line.

    Args:
        kind: The dataclass.
        section: ``Args`` section of its docstring.
    """
    table = terminal.table()
    table.add_column("parameter", no_wrap=True)
    table.add_column("default", max_width=WIDEST_DEFAULT)
    table.add_column("meaning")
    defaults = {field.name: field.default for field in fields(kind)}
    for name, text in ENTRY.findall(section):
        table.add_row(name, Text(_typed(defaults.get(name, ""))), Text(" ".join(text.split())))
    return table


def _typed(value: Any) -> str:
    """A value as it is typed in the brackets of a name.

    >>> _typed(True), _typed(None), _typed(("WI", "NI")), _typed(0.5)
    ('true', 'none', 'WI+NI', '0.5')
    """
    if isinstance(value, tuple):
        return "+".join(map(_typed, value))
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
