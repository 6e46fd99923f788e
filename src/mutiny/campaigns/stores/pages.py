"""Reads the rows of a damaged SQLite file page by page: https://www.sqlite.org/fileformat2.html.

Only pages that hold rows are needed: not the first page, nor inner pages of the trees, nor the list of tables.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

LEAF = 0x0D
"""First byte of a page that holds rows of a table."""
FILE = 0
"""Moment of the pages in the file. Pages in the current log have later moments; pages of an outdated log, which SQLite
has not overwritten yet, have earlier ones."""
WORK = 1000
"""Times its size that is read of a file; rows of a file that mutiny wrote do not share their pages."""
_LOG_HEADER, _FRAME_HEADER = 32, 24


@dataclass(frozen=True)
class StoredRow:
    """A row as it is stored on a page.

    Attributes:
        number: Number of the row.
        size: Size of its record in bytes.
        local: Beginning of the record, as much as is on this page.
        follows: Number of the page with the next piece; 0 if there is none.
        moment: Moment at which the page was written.
    """

    number: int
    size: int
    local: bytes
    follows: int
    moment: int


class Pages:
    """All versions of all pages, in a file and in the write-ahead log next to it.

    Args:
        path: Path of the file; the log has the same name with the suffix ``-wal``.
        page: Size of a page in bytes.
        reserved: Bytes at the end of each page that hold no rows.
    """

    def __init__(self, path: Path, page: int = 4096, reserved: int = 0) -> None:
        self.page, self.usable = page, page - reserved
        self.count = -(-path.stat().st_size // page)
        log = path.with_name(f"{path.name}-wal")
        self._file = path.open("rb")
        self._log = log.open("rb") if log.is_file() else None
        self._places: dict[int, list[tuple[int, int]]] = {}  # page: moments and places in the log, the oldest first
        self._work = 0
        self._ends: dict[int, int] = {}  # moment: that of the end of its transaction
        self.last = FILE
        if self._log:
            self._index(self._log, max(0, log.stat().st_size - _LOG_HEADER) // (page + _FRAME_HEADER))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        if self._log:
            self._log.close()

    def cells(self) -> Iterator[StoredRow]:
        """All rows, those of the most recently written pages first; bytes that look like a row may be among them."""
        versions = [(moment, number) for number, places in self._places.items() for moment, _ in places]
        for moment, number in sorted(versions, reverse=True):
            if moment > FILE:
                yield from self._cells_of(number, moment)
        for number in range(1, self.count + 1):
            yield from self._cells_of(number, FILE)
        for moment, number in sorted(versions, reverse=True):
            if moment < FILE:
                yield from self._cells_of(number, moment)

    def records(self, cell: StoredRow) -> Iterator[bytes]:
        """Candidates for the record of a row: with the newest pages, with those of its time, with those of the file.

        Some of them may be wrong, and all of them if the row is damaged.
        """
        if not cell.follows:
            yield cell.local
            return
        for moment in dict.fromkeys([self.last, self._ends.get(cell.moment, FILE), FILE]):
            record = self._record(cell, moment)
            if record is not None:
                yield record

    def _index(self, log: BinaryIO, frames: int) -> None:
        salt, end = _read(log, 16, 8), None
        heads = [_read(log, self._frame(frame), 16).ljust(16, b"\0") for frame in range(frames)]
        if heads and salt not in [head[8:] for head in heads]:
            salt = heads[0][8:]  # the header of the log is damaged
        for frame in range(frames - 1, -1, -1):
            number, commits = struct.unpack_from(">II", heads[frame])
            moment = frame + 1 if heads[frame][8:] == salt else frame - frames
            end = moment if commits or end is None or (end > 0) != (moment > 0) else end
            self._ends[moment] = end
            if 0 < number <= self.count + frames:
                self._places.setdefault(number, []).append((moment, self._frame(frame) + _FRAME_HEADER))
                self.last = max(self.last, moment)
        for places in self._places.values():
            places.sort()

    def _frame(self, frame: int) -> int:
        return _LOG_HEADER + frame * (self.page + _FRAME_HEADER)

    def _content(self, number: int, moment: int) -> bytes:
        """A page at a moment, with zeros for missing bytes; empty if there is no such page."""
        places = self._places.get(number, [])
        index = bisect_right(places, (moment, 1 << 62)) - 1
        if self._log and index >= 0 and moment != FILE and (places[index][0] > FILE) == (moment > FILE):
            content = _read(self._log, places[index][1], self.page)
        elif 0 < number <= self.count:
            content = _read(self._file, (number - 1) * self.page, self.page)
        else:
            return b""
        return content.ljust(self.page, b"\0")[: self.usable]

    def _record(self, cell: StoredRow, moment: int) -> bytes | None:
        pieces, left, number, seen = [cell.local], cell.size - len(cell.local), cell.follows, set[int]()
        self._work += cell.size
        if self._work > WORK * self.page * (self.count + len(self._ends) + 1):
            return None
        while left > 0:
            content = b"" if number in seen else self._content(number, moment)
            if not content:
                return None
            seen.add(number)
            pieces.append(content[4 : 4 + min(left, self.usable - 4)])
            left -= len(pieces[-1])
            number = struct.unpack_from(">I", content)[0]
        return b"".join(pieces)

    def _cells_of(self, number: int, moment: int) -> Iterator[StoredRow]:
        content = self._content(number, moment)
        start = 100 if number == 1 else 0
        if not content or content[start] != LEAF:
            return
        count = min(struct.unpack_from(">H", content, start + 3)[0], (self.usable - start - 8) // 2)
        for place in struct.unpack_from(f">{count}H", content, start + 8):
            cell = self._cell(content, place, moment)
            if cell is not None:
                yield cell

    def _cell(self, content: bytes, place: int, moment: int) -> StoredRow | None:
        size, place = varint(content, place)
        number, place = varint(content, place)
        local, follows = size, 0
        if size > self.usable - 35:
            least = (self.usable - 12) * 32 // 255 - 23
            local = least + (size - least) % (self.usable - 4)
            local = local if local <= self.usable - 35 else least
            if place + local + 4 > self.usable:
                return None
            follows = struct.unpack_from(">I", content, place + local)[0]
        if not 0 < size <= self.page * (self.count + len(self._ends)) or place + local > self.usable:
            return None
        return StoredRow(number, size, content[place : place + local], follows, moment)


def _read(file: BinaryIO, place: int, length: int) -> bytes:
    try:
        file.seek(place)
        return file.read(length)
    except OSError:  # a bad block of the disk
        return b""


def varint(content: bytes, place: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the position after it.

    >>> varint(bytes([0x81, 0x00]), 0)
    (128, 2)
    """
    value = 0
    for index, byte in enumerate(content[place : place + 9]):
        if index == 8:
            return value << 8 | byte, place + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, place + index + 1
    return 0, place + 9


def columns(record: bytes) -> list[tuple[int, int, int]]:
    """Type, position and length of each column of a record, of which only the beginning is needed.

    Types: 0 is null, 7 a floating-point number, 12 and above bytes (even) or text (odd).
    """
    length, place = varint(record, 0)
    start, places = length, []
    while place < length <= len(record):
        kind, place = varint(record, place)
        size = (kind - 12) // 2 if kind >= 12 else (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[kind]
        places.append((kind, start, size))
        start += size
    return places
