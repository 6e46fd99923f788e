"""A part of a sealed value: bytes that are decompressed when they are needed, and only as far as memory is allowed."""

from __future__ import annotations

import zlib

from mutiny.campaigns.stores.encoding import Part
from mutiny.core.json_text import PER_BYTE, memory_of
from mutiny.core.limits import Allowance


class SealedPart:
    """A part of a sealed value, decompressed when it is needed.

    Args:
        stored: Bytes as they are stored.
        compressed: Whether they are compressed.
        allowance: Memory that the value may take.
    """

    def __init__(self, stored: memoryview, compressed: bool, allowance: Allowance) -> None:
        self.stored, self.compressed, self.allowance = stored, compressed, allowance

    def content(self, size: int | None = None) -> Part:
        """The bytes, after their number was taken from the allowance.

        Args:
            size: Number of bytes that there must be; any by default.
        """
        if not self.compressed:
            if size not in (None, len(self.stored)):
                raise ValueError("a part has another size than the value says")
            self.allowance.take(len(self.stored))
            return self.stored
        if size is None:
            content = self._decompressed(self.allowance.left // 2)
            self.allowance.take(len(content))
            return content
        self.allowance.take(2 * size)  # the caller makes a copy
        content = self._decompressed(size)
        if len(content) != size:
            raise ValueError("a part has another size than the value says")
        self.allowance.left += size
        return content

    def text(self) -> bytes:
        """The bytes as JSON text; the memory of its values is taken from the allowance."""
        most = self.allowance.left // PER_BYTE
        text = self._decompressed(most) if self.compressed else bytes(self.stored)
        self.allowance.take(memory_of(text))
        return text

    def _decompressed(self, most: int) -> bytes:
        decompressor = zlib.decompressobj()
        content = decompressor.decompress(self.stored, most + 1)
        if len(content) > most:
            raise self.allowance.exceeded()
        if not decompressor.eof:
            raise ValueError("a part ends early")
        return content
