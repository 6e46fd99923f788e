"""Values in sealed bytes: what comes back is what was put in, or an error.

The bytes: a mark, the SHA-256 of the rest, and the rest: format version, number of parts, for each part whether it is
compressed and its length, then the parts: the header as JSON, the value as JSON, arrays.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from mutiny import __version__
from mutiny.campaigns.stores.decoding import Decoder, Unreadable
from mutiny.campaigns.stores.encoding import Encoder, Part
from mutiny.core.errors import StoreDamaged, StoreError

MARK = b"\x8fmutiny\n"
FORMAT = 1
START = len(MARK) + 32
_RAW, _COMPRESSED = 0, 1
_COUNT, _PART = struct.Struct("<BI"), struct.Struct("<BQ")
_SMALL, _SAMPLE = 200, 16_384


def seal(value: Any, header: dict[str, Any]) -> bytes:
    """Bytes that hold a value and a header, which can be read without the value.

    >>> header, value = unseal(seal({"score": (0.5, float("inf"))}, {"task": "a1"}))
    >>> header["task"], value
    ('a1', {'score': (0.5, inf)})
    """
    encoder = Encoder()
    text = encoder.text(value)
    told: Part = json.dumps({**header, "mutiny": __version__}, separators=(",", ":")).encode()
    stored = [(_RAW, told), _compressed(text, zlib.Z_DEFAULT_STRATEGY)]
    stored += [_compressed(part, zlib.Z_RLE) for part in encoder.parts]
    table = _COUNT.pack(FORMAT, len(stored)) + b"".join(_PART.pack(how, len(part)) for how, part in stored)
    digest = hashlib.sha256(table)
    for _, part in stored:
        digest.update(part)
    return b"".join([MARK, digest.digest(), table, *(part for _, part in stored)])


def header_of(sealed: bytes, store: object = "", what: str = "value") -> dict[str, Any]:
    """The header, after a check of the seal.

    Args:
        sealed: what `seal` returned.
        store: file that it comes from, for messages.
        what: it is, for messages.

    Raises:
        StoreDamaged: the bytes are not those that were sealed.
    """
    told: dict[str, Any] = json.loads(bytes(next(_parts(sealed, store, what))))
    return told


def unseal(sealed: bytes, store: object = "", what: str = "value") -> tuple[dict[str, Any], Any]:
    """Header and value; arguments and errors as in `header_of`.

    Raises:
        StoreError: another version of mutiny wrote it, and this one lacks what it names.
    """
    parts = _parts(sealed, store, what)
    header = json.loads(bytes(next(parts)))
    try:
        text = bytes(next(parts))
        return header, Decoder([bytearray(part) for part in parts]).value(text)
    except Unreadable as error:
        raise StoreError(
            "store",
            store,
            f"{what} in words that mutiny {__version__} knows, got {error}",
            f"mutiny {header.get('mutiny')} wrote it: use that version, or begin a new file.",
        ) from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, struct.error, zlib.error) as error:
        raise damaged(store, what) from error


def check_place(header: dict[str, Any], store: object, name: str, /, **expected: str) -> None:
    """Raises `StoreDamaged` where what was sealed is whole, but another's."""
    if any(header.get(key) != told for key, told in expected.items()):
        raise damaged(store, name)


def damaged(store: object, what: str) -> StoreDamaged:
    """The error that says how to save the rest."""
    return StoreDamaged(
        "store",
        store,
        f"an intact {what}, but some bytes of it have changed since they were written",
        f"Run `mutiny resume --salvage {shlex.quote(str(store))}`: it keeps all that is intact.",
    )


def _parts(sealed: bytes, store: object, what: str) -> Iterator[Part]:
    if not isinstance(sealed, bytes):  # a flipped bit may make a number of a column
        raise damaged(store, what)
    if sealed[: len(MARK)] != MARK or hashlib.sha256(memoryview(sealed)[START:]).digest() != sealed[len(MARK) : START]:
        raise damaged(store, what)
    form, count = _COUNT.unpack_from(sealed, START)
    if form > FORMAT:
        raise StoreError(
            "store", store, f"{what} in format {FORMAT} or older, got format {form}", "Use a newer version of mutiny."
        )
    place = START + _COUNT.size
    table = [_PART.unpack_from(sealed, place + i * _PART.size) for i in range(count)]
    place += count * _PART.size
    view = memoryview(sealed)
    for how, length in table:
        part = view[place : place + length]
        yield zlib.decompress(part) if how == _COMPRESSED else part
        place += length


def _compressed(part: Part, strategy: int) -> tuple[int, Part]:
    """Compressed where that at least halves it; of large parts a sample tells.

    Runs of equal bytes are all that is looked for in arrays: packed bits shrink more than by the usual search, at five
    times the speed, and numbers hardly shrink by either, at 30 MB/s.
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
