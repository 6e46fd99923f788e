"""Standard output of commands, and its building blocks: tables, legends and notes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from rich import markup
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from mutiny.core.errors import BadInput
from mutiny.core.printable import UNPRINTABLE, printable


class PlainConsole(Console):
    """A console that shows characters which would control it, or hide or reorder text, instead of obeying them."""

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a renderable, as rich makes them, with printable text."""
        shown = _printable_text(renderable) if isinstance(renderable, Text) else renderable
        for segment in super().render(shown, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def _printable_text(text: Text) -> Text:
    """The text with its styles, changed before it is wrapped, so that nothing is cut off."""
    places = [place for match in UNPRINTABLE.finditer(text.plain) for place in match.span()]
    if not places:
        return text
    shown = text.blank_copy()
    for piece in text.divide(sorted(set(places) - {0, len(text.plain)})):
        piece.plain = printable(piece.plain)
        shown.append_text(piece)
    return shown


class Output(PlainConsole):
    """Standard output of a command.

    When its reader, such as ``head``, closes the pipe, the rest of the output is discarded; the exit code stays that of
    the result.

    Args:
        fix: What to do if the output cannot be printed, such as on a full disk.
    """

    def __init__(self, fix: str = "") -> None:
        super().__init__()
        self.fix = fix

    def print(self, *objects: Any, **options: Any) -> None:
        """Prints as rich does, but cuts no line; an output that cannot be written raises `BadInput`."""
        try:
            super().print(*objects, **{"crop": False, **options})
        except BrokenPipeError:
            self.on_broken_pipe()
        except OSError as error:
            raise BadInput("output", "<the result>", f"a place to print it ({error.strerror})", self.fix) from error

    def on_broken_pipe(self) -> None:
        """Discards what is still to be printed; rich itself would end the command with exit code 1."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def escape(text: str) -> str:
    """A value inside of markup: on one line, printable, and without any markup of its own."""
    return markup.escape(printable(text, breaks=False))


class PlainTable(Table):
    """A table in whose first column no value begins a line of its own."""

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        """Adds a row as rich does."""
        first = cells[0] if cells else None
        if isinstance(first, (str, Text)) and "\n" in str(first):
            cells = (Text(printable(first, breaks=False)), *cells[1:])
        super().add_row(*cells, **options)


def table(**options: Any) -> Table:
    """An empty table with a line below its titles and no frame; options are those of rich."""
    return PlainTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold", **options)


def legend(lines: Iterable[str]) -> list[Padding]:
    """Dim lines below a table that explain its titles."""
    texts = [Text(printable(line, breaks=False), style="dim") for line in lines]
    return [Padding(text, (0, 0, 0, 1), expand=False) for text in texts]


def notes(texts: Iterable[str], above: int = 0) -> list[Padding]:
    """Notes, a line each.

    Args:
        texts: The notes.
        above: Number of empty lines above the first.
    """
    lines = [Text.from_markup(f"[yellow]note[/] {escape(text)}") for text in texts]
    return [Padding(line, (0 if number else above, 1, 0, 1), expand=False) for number, line in enumerate(lines)]
