"""Entries of zip files, whose sizes and kinds are checked before they are read."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable

from mutiny.core.errors import BadInput
from mutiny.core.limits import Allowance

METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Compression methods whose memory is bounded by what they return."""
ENCRYPTED = 1
"""Bit of the flags of an encrypted entry."""


def check_entries(entries: Iterable[zipfile.ZipInfo], argument: str, file: object, size: int) -> None:
    """Raises `BadInput` for entries that cannot be read, or that take too much memory in all.

    No reader returns more than the size that an entry declares.

    Args:
        entries: Entries that will be read and kept.
        argument: Name of the argument that names the file, for messages.
        file: The file, for messages.
        size: Size of the zip file.
    """
    entries = list(entries)
    for entry in entries:
        if entry.flag_bits & ENCRYPTED:
            raise BadInput(argument, f"{file} with {entry.filename} encrypted", "a file without encryption")
        if entry.compress_type not in METHODS:
            used = f"{file} with {entry.filename} compressed by method {entry.compress_type}"
            raise BadInput(argument, used, "deflate, bzip2 or no compression", "Pack it again.")
    on_disk = min(size, sum(entry.compress_size for entry in entries))
    Allowance(argument, file, on_disk).take(sum(entry.file_size for entry in entries))
