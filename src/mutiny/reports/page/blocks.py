"""Building blocks of a page: sections of texts, tables, charts and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from mutiny.reports.page.pictures import Picture

SYMBOLS = {"killed": "●", "survived": "▲", "unstable": "◆", "invalid": "✕"}
"""Symbols of verdicts, because color alone does not reach every reader."""


@dataclass(frozen=True)
class Text:
    """A paragraph: ``answer`` is emphasized, ``missing`` says which data is missing, ``aside`` explains."""

    kind: ClassVar[str] = "text"
    text: str
    tone: Literal["plain", "answer", "missing", "aside"] = "plain"


@dataclass(frozen=True)
class Command:
    """A command line to copy, with the reason before it."""

    kind: ClassVar[str] = "command"
    line: str
    title: str = ""
    why: str = ""


@dataclass(frozen=True)
class TableCell:
    """One entry of a table.

    Attributes:
        text: Text of the cell.
        value: Sort key; the text by default. Empty cells come last.
        verdict: Verdict that the text is about.
        share: Length of a bar behind the text, from 0 to 1.
    """

    text: str
    value: float | str | None = None
    verdict: str = ""
    share: float | None = None

    @property
    def symbol(self) -> str:
        """The symbol of the verdict."""
        return SYMBOLS.get(self.verdict, "")


@dataclass(frozen=True)
class Column:
    """A column of a table; ``hint`` explains its title."""

    title: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of a table; the first cell names it, and rows are filtered by ``verdict``."""

    cells: tuple[TableCell, ...]
    verdict: str = ""


@dataclass(frozen=True)
class Table:
    """A table that readers can sort and, if ``filters``, filter."""

    kind: ClassVar[str] = "table"
    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    filters: bool = False

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts of its rows, in the order of `SYMBOLS`."""
        return tuple(name for name in SYMBOLS if any(row.verdict == name for row in self.rows))

    @property
    def hints(self) -> tuple[Column, ...]:
        """The columns whose titles are explained."""
        return tuple(column for column in self.columns if column.hint)


@dataclass(frozen=True)
class Chart:
    """A picture with its caption; ``label`` describes it for readers who cannot see it."""

    kind: ClassVar[str] = "chart"
    id: str
    picture: Picture
    caption: str
    label: str
    wide: bool = False


@dataclass(frozen=True)
class Charts:
    """Charts side by side, if the page is wide enough."""

    kind: ClassVar[str] = "charts"
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Photo:
    """A small image in a gallery: bytes of a PNG file, and a description."""

    png: bytes
    alt: str


@dataclass(frozen=True)
class Gallery:
    """A grid of small images, with a title for each row and each column."""

    kind: ClassVar[str] = "gallery"
    rows: tuple[str, ...]
    columns: tuple[tuple[str, tuple[Photo, ...]], ...]
    caption: str


@dataclass(frozen=True)
class Facts:
    """Names and values."""

    kind: ClassVar[str] = "facts"
    pairs: tuple[tuple[str, str], ...]
    caption: str = ""


@dataclass(frozen=True)
class Notes:
    """Notes."""

    kind: ClassVar[str] = "notes"
    items: tuple[str, ...]
    title: str = "Notes"


@dataclass(frozen=True)
class Fold:
    """Blocks under a title that opens and closes; everything is shown in print."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...]
    open: bool = False


@dataclass(frozen=True)
class Subsection:
    """Blocks under a smaller heading."""

    kind: ClassVar[str] = "part"
    title: str
    blocks: tuple[Block, ...]


Block = Text | Command | Table | Chart | Charts | Gallery | Facts | Notes | Fold | Subsection


@dataclass(frozen=True)
class Section:
    """A question and its answer."""

    id: str
    title: str
    blocks: tuple[Block, ...]
