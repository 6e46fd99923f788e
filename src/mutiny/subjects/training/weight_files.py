"""Checks of files of weights before they are read: what a header or a directory claims, against what memory allows."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

from mutiny.core.json_text import memory_of
from mutiny.core.limits import Allowance
from mutiny.subjects.data.archives import check_entries


def check_safetensors(path: str | Path, argument: str) -> None:
    """Raises `BadInput` if the header of a safetensors file takes too much memory.

    The library checks that it fits into the file, and that shapes, types and offsets agree with one another.
    """
    size = Path(path).stat().st_size
    with Path(path).open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else size
        if length <= size - 8:
            allowance = Allowance(argument, path, size)
            allowance.take(length)
            allowance.take(memory_of(file.read(length)))


def check_zipped(path: Path, argument: str) -> None:
    """Raises `BadInput` if the content of a file of ``torch.save``, which is a zip file, takes too much memory."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            check_entries(file.infolist(), argument, path, path.stat().st_size)
