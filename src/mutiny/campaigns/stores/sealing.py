"""Seals values: bytes with a checksum, so that reading them gives the same value or an error.

The bytes are a mark, the SHA-256 of the rest, the format version, the number of parts, for each part its length and
whether it is compressed, and the parts: the header as JSON, the value as JSON, and arrays.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mutiny import __version__
from mutiny.campaigns.stores.decoding import Decoder, Unreadable
from mutiny.campaigns.stores.encoding import Encoder, Part
from mutiny.campaigns.stores.sealed_part import SealedPart
from mutiny.core.errors import StoreDamaged, StoreError
from mutiny.core.json_text import parsed
from mutiny.core.limits import Allowance

MARK = b"\x8fmutiny\n"
FORMAT = 1
START = len(MARK) + 32
_RAW, _COMPRESSED = 0, 1
_COUNT, _PART = struct.Struct("<BI"), struct.Struct("<BQ")
_SMALL, _SAMPLE = 200, 16_384
HEADER: dict[str, Any] = {
    **dict.fromkeys("what campaign task kind name basis finished mutiny".split(), str),
    **dict.fromkeys("revision turn most".split(), int),
    "seconds": (int, float),
    "scratch": bool,
}
"""Types of the values in headers."""
IDS = ("campaign", "task")
"""Values in headers that identify rows."""
LONGEST, LARGEST = 1e8, 1 << 62
"""Largest number of seconds of a job, and largest other number in a header."""


def seal(value: Any, header: dict[str, Any]) -> bytes:
    """Bytes with a checksum that hold a value and a header, which can be read without the value.

    >>> header, value = unseal(seal({"score": (0.5, float("inf"))}, {"task": "a1"}))
    >>> header["task"], value
    ('a1', {'score': (0.5, inf)})
    """
    encoder = Encoder()
    text = encoder.text(value)
    head: Part = json.dumps({**header, "mutiny": __version__}, separators=(",", ":")).encode()
    stored = [(_RAW, head), _compressed(text, zlib.Z_DEFAULT_STRATEGY)]
    stored += [_compressed(part, zlib.Z_RLE) for part in encoder.parts]
    table = _COUNT.pack(FORMAT, len(stored)) + b"".join(
        _PART.pack(compression, len(part)) for compression, part in stored
    )
    digest = hashlib.sha256(table)
    for _, part in stored:
        digest.update(part)
    return b"".join([MARK, digest.digest(), table, *(part for _, part in stored)])


def header_of(sealed: bytes, store: object = "", what: str = "value") -> dict[str, Any]:
    """The header, after the checksum was verified.

    Args:
        sealed: Bytes from `seal`.
        store: File that they come from, for messages.
        what: Name of the value, for messages.

    Raises:
        StoreDamaged: The checksum is wrong, or mutiny did not write this.
    """
    with _readable(store, what):
        return _header(_parts(sealed, store, what)[0])


def unseal(
    sealed: bytes, store: object = "", what: str = "value", allowance: Allowance | None = None
) -> tuple[dict[str, Any], Any]:
    """Header and value; arguments and errors as in `header_of`.

    Args:
        sealed: Bytes from `seal`.
        store: File that they come from, for messages.
        what: Name of the value, for messages.
        allowance: Memory that the value may take; that of a file of this size by default.

    Raises:
        StoreError: Another version of mutiny wrote the value, and this version lacks a class that it needs; or the
            value takes too much memory.
    """
    with _readable(store, what):
        head, body, *parts = _parts(sealed, store, what, allowance)
        header = _header(head)
        try:
            return header, Decoder(parts, head.allowance).decode(parsed(body.text()))
        except Unreadable as error:
            expected = f"{what} in a form that mutiny {__version__} knows, got {error}"
            fix = f"mutiny {header.get('mutiny')} wrote it: use that version, or start a new file."
            raise StoreError("store", store, expected, fix) from None


@contextmanager
def _readable(store: object, what: str) -> Iterator[None]:
    """Turns the errors of reading bytes with a valid checksum that mutiny did not write into `StoreDamaged`."""
    try:
        yield
    except StoreError:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
        struct.error,
        zlib.error,
    ) as error:
        raise damaged(store, what) from error


def _header(part: SealedPart) -> dict[str, Any]:
    if part.compressed:
        raise ValueError("a compressed header")
    header: dict[str, Any] = parsed(part.text())
    for key, kind in HEADER.items():
        value = header.get(key)
        if value is None:
            continue
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise TypeError(key)
        if isinstance(value, str) and key in IDS:
            value.encode()  # an error if it cannot be stored
        if isinstance(value, (int, float)) and not 0 <= value <= (LONGEST if key == "seconds" else LARGEST):
            raise ValueError(key)
    return header


def check_place(header: dict[str, Any], store: object, name: str, /, **expected: str) -> None:
    """Raises `StoreDamaged` if an intact value belongs to another row."""
    if any(header.get(key) != value for key, value in expected.items()):
        raise damaged(store, name)


def damaged(store: object, what: str) -> StoreDamaged:
    """The error for damaged bytes, which says how to save the rest."""
    expected = f"an intact {what}, but some bytes of it have changed since they were written"
    fix = f"Run `mutiny resume --salvage {shlex.quote(str(store))}`: it keeps everything that is intact."
    return StoreDamaged("store", store, expected, fix)


def _parts(sealed: bytes, store: object, what: str, allowance: Allowance | None = None) -> list[SealedPart]:
    if not isinstance(sealed, bytes):  # a flipped bit may turn the column into a number
        raise damaged(store, what)
    if sealed[: len(MARK)] != MARK or hashlib.sha256(memoryview(sealed)[START:]).digest() != sealed[len(MARK) : START]:
        raise damaged(store, what)
    allowance = allowance or Allowance("store", store, len(sealed), StoreError)
    version, count = _COUNT.unpack_from(sealed, START)
    if version > FORMAT:
        raise StoreError(
            "store",
            store,
            f"{what} in format {FORMAT} or older, got format {version}",
            "Use a newer version of mutiny.",
        )
    place = START + _COUNT.size
    if count * _PART.size > len(sealed) - place:
        raise damaged(store, what)
    table = [_PART.unpack_from(sealed, place + i * _PART.size) for i in range(count)]
    place += count * _PART.size
    view, parts = memoryview(sealed), []
    for compression, length in table:
        parts.append(SealedPart(view[place : place + length], compression == _COMPRESSED, allowance))
        place += length
    return parts


def _compressed(part: Part, strategy: int) -> tuple[int, Part]:
    """Compresses a part if that at least halves its size; for large parts a sample decides.

    Arrays are compressed by run length only: packed bits shrink more than with the default strategy, at five times the
    speed, and floating-point numbers hardly shrink with either, at 30 MB/s.
    """
    size = len(part)
    if size < _SMALL:
        return _RAW, part
    middle = (size - _SAMPLE) // 2
    if size > 4 * _SAMPLE and 2 * len(_squeezed(part[middle : middle + _SAMPLE], strategy)) > _SAMPLE:
        return _RAW, part
    squeezed = _squeezed(part, strategy)
    return (_COMPRESSED, squeezed) if 2 * len(squeezed) <= size else (_RAW, part)


def _squeezed(part: Part, strategy: int) -> bytes:
    squeezer = zlib.compressobj(1, zlib.DEFLATED, 15, 9, strategy)
    return squeezer.compress(part) + squeezer.flush()
