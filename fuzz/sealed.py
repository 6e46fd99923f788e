"""Sealed rows of stores taken apart, changed and sealed again, so that their checksums hold."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from random import Random
from typing import Any

from fuzz.mutate import MEBI, NUMBERS, mutated_bytes, mutated_value, odd_value, places, rarely
from mutiny.campaigns.stores.sealing import MARK, START

CLASSES = """os:abort mutiny.__main__:main mutiny.core.records:KillBits mutiny.core.records:MutantRecord mutiny: mutiny.
mutiny.core.records:Verdict mutiny.core.stats.intervals:Interval mutiny.campaigns.stores.base:Campaign
mutiny.campaigns.jobs:Job mutiny.campaigns.jobs:WithScratch mutiny.verbs.assess.result:Assessment""".split()
DTYPES = ("|O", "<f8", "|S0", "<U0", "<f3", "<M8[ns]", "|V8", "f8,i4", "<U999999999", "float32", "bfloat16", "load")


Part = bytes | Callable[[], bytes]
"""Bytes, or a function that returns them compressed."""
PIECES = (b"[]", b"{}", b"0", b'""', b'{"":0}', b'{"!":"tuple","items":[]}')


@dataclass
class Row:
    """A sealed row: header, JSON of the value, further parts, and which of all are compressed.

    A function stands for a bomb, and returns its compressed bytes.
    """

    header: Any
    tree: Any
    parts: list[Part]
    compressed: list[bool]
    text: Part | None = None
    count: int | None = None

    @classmethod
    def of(cls, sealed: bytes) -> Row:
        """Takes a row apart."""
        count = struct.unpack_from("<BI", sealed, START)[1]
        place = START + 5 + 9 * count
        contents, compressed = [], []
        for number in range(count):
            packed, length = struct.unpack_from("<BQ", sealed, START + 5 + 9 * number)
            part = sealed[place : place + length]
            contents.append(zlib.decompress(part) if packed else part)
            compressed.append(bool(packed))
            place += length
        return cls(json.loads(contents[0]), json.loads(contents[1]), contents[2:], compressed)

    def sealed(self) -> bytes:
        """The row with a right checksum."""
        texts = [json.dumps(self.header).encode(), self.text or json.dumps(self.tree).encode(), *self.parts]
        flags = [*self.compressed, *[True] * len(texts)]
        stored = [packed(part, flag) for flag, part in zip(flags, texts, strict=False)]
        count = len(stored) if self.count is None else self.count
        table = struct.pack("<BI", 1, count) + b"".join(struct.pack("<BQ", flag, len(part)) for flag, part in stored)
        body = table + b"".join(part for _, part in stored)
        return MARK + hashlib.sha256(body).digest() + body


def packed(part: Part, compress: bool) -> tuple[bool, bytes]:
    """Whether a part is compressed, and its bytes."""
    if callable(part):
        return True, part()
    return compress, zlib.compress(part, 1) if compress else part


def mutated_row(draw: Random, sealed: bytes) -> bytes:
    """A sealed row with changes of its structure."""
    row = Row.of(sealed)
    if rarely(draw):
        row.compressed = [False, *[True] * (1 + len(row.parts))]
        if row.parts and draw.random() < 0.5:
            row.parts[draw.randrange(len(row.parts))] = partial(zeros, draw.choice([70, 150, 400]) * MEBI)
        else:
            row.text = partial(bomb_of_text, draw.randrange(9))
        return row.sealed()
    match draw.randrange(12):
        case 0 | 1:
            row.header = mutated_value(draw, row.header)
        case 2 if row.parts:
            row.parts[draw.randrange(len(row.parts))] = bytes(draw.choice([0, 1, 100, 10_000]))
        case 3:
            row.count = draw.choice(NUMBERS) % (1 << 32)
        case 4:
            row.compressed = [draw.random() < 0.5 for _ in row.compressed]
        case 5:
            body = mutated_bytes(draw, sealed[START:])
            return MARK + hashlib.sha256(body).digest() + body
        case 6 | 7:
            _change_tags(draw, row)
        case _:
            row.tree = mutated_value(draw, row.tree)
    return row.sealed()


@cache
def zeros(size: int) -> bytes:
    """That many zeros, compressed."""
    return zlib.compress(bytes(size), 1)


@cache
def bomb_of_text(number: int) -> bytes:
    """JSON that is small when compressed and large when read, compressed."""
    others = (b"[" * MEBI, b"[" * 900 + b"]" * 900, b'"' + b"a" * 100 * MEBI + b'"')
    if number >= len(PIECES):
        return zlib.compress(others[number - len(PIECES)], 1)
    piece = PIECES[number]
    return zlib.compress(b"[" + piece + (b"," + piece) * (4 * MEBI // (len(piece) + 1)) + b"]", 1)


def _change_tags(draw: Random, row: Row) -> None:
    """Changes what describes a value: its class, type, shape, axes, part or kind."""
    tagged = [(owner, key) for owner, key in places(row.tree) if isinstance(owner, dict) and "!" in owner]
    if not tagged:
        row.tree = {"!": "array", "dtype": "|u1", "shape": [draw.choice(NUMBERS)], "axes": [0], "part": 0}
        return
    owner, key = draw.choice(tagged)
    match key:
        case "class":
            owner[key] = draw.choice(CLASSES)
        case "dtype":
            owner[key] = draw.choice(DTYPES)
        case "shape" | "axes":
            owner[key] = [draw.choice(NUMBERS) for _ in range(draw.choice([0, 1, 2, 3, 40]))]
        case "part":
            owner[key] = draw.choice([-1, 0, 1, 99, 1 << 40, "0", None])
        case "!":
            kinds = "int float dict tuple set frozenset bytes scalar array tensor enum record no".split()
            owner[key] = draw.choice(kinds)
        case _:
            owner[key] = odd_value(draw)
