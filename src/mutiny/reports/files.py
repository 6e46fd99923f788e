"""Result files: refused early or written whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutiny.errors import BadInput

LONGEST_NAME = 240
"""Bytes of a file name, with room for the name of its unfinished part."""


def check_writable(path: Path, option: str) -> None:
    """Raises `BadInput` now if ``path`` could not be written later."""
    folder = path.resolve().parent
    too_long = len(os.fsencode(path.resolve().name)) > LONGEST_NAME
    if too_long or path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(option, path, "a file in an existing folder that can be written")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` at the end and vanishes if anything fails.

    Links are followed; devices and pipes are written to as they are, never replaced.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        yield path
        return
    part = path.with_name(f".{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
