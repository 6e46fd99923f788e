"""Building blocks of a page: sections of texts, tables, charts and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from mutiny.reports.page.pictures import Picture

SYMBOLS = {"killed": "●", "survived": "▲", "unstable": "◆", "invalid": "✕"}
"""Verdicts are told apart by shape and word, not by color alone."""


@dataclass(frozen=True)
class Text:
    """A paragraph. An ``answer`` stands out; ``missing`` says what there is no data for; ``aside`` explains."""

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
        text: as people read it.
        value: by which rows are sorted; the text if not given, and nothing sorts last.
        verdict: the verdict that the text is about.
        share: draws a bar so long behind the text.
    """

    text: str
    value: float | str | None = None
    verdict: str = ""
    share: float | None = None

    @property
    def symbol(self) -> str:
        """The verdict's shape."""
        return SYMBOLS.get(self.verdict, "")


@dataclass(frozen=True)
class Column:
    """A table's column; ``hint`` explains its title."""

    title: str
    numeric: bool = False
    hint: str = ""


@dataclass(frozen=True)
class TableRow:
    """A line of a table; the first cell names it. ``verdict`` is what the filter looks at."""

    cells: tuple[TableCell, ...]
    verdict: str = ""


@dataclass(frozen=True)
class Table:
    """Rows that can be sorted, and filtered if ``filters``."""

    kind: ClassVar[str] = "table"
    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    filters: bool = False

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Which there are, in the order of `SYMBOLS`."""
        return tuple(name for name in SYMBOLS if any(row.verdict == name for row in self.rows))

    @property
    def hints(self) -> tuple[Column, ...]:
        """Columns whose titles need a word."""
        return tuple(column for column in self.columns if column.hint)


@dataclass(frozen=True)
class Chart:
    """A picture with its caption; ``label`` says in words what it shows."""

    kind: ClassVar[str] = "chart"
    id: str
    picture: Picture
    caption: str
    label: str
    wide: bool = False


@dataclass(frozen=True)
class Charts:
    """Pictures side by side where there is room."""

    kind: ClassVar[str] = "charts"
    charts: tuple[Chart, ...]


@dataclass(frozen=True)
class Photo:
    """A small picture in a gallery: bytes of a PNG file, and what it shows."""

    png: bytes
    alt: str


@dataclass(frozen=True)
class Gallery:
    """Columns of small pictures, one below the other, with a title for each row and a caption for each column."""

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
