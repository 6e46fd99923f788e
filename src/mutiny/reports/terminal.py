"""Building blocks of terminal output: tables, legends and notes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text


def table(**options: Any) -> Table:
    """An empty table with a line below its titles and no frame; options are those of rich."""
    return Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", **options)


def legend(lines: Iterable[str]) -> list[Padding]:
    """Dim lines below a table that explain its titles."""
    return [Padding(Text(line, style="dim"), (0, 0, 0, 1), expand=False) for line in lines]


def notes(texts: Iterable[str], above: int = 0) -> list[Padding]:
    """Notes, a line each.

    Args:
        texts: The notes.
        above: Number of empty lines above the first.
    """
    lines = [Text.from_markup(f"[yellow]note[/] {escape(text)}") for text in texts]
    return [Padding(line, (0 if number else above, 1, 0, 1), expand=False) for number, line in enumerate(lines)]
