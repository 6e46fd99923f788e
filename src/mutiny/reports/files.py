"""Output files: checked before work starts, written completely or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.core.private_files import USUAL, followed, replaced

LONGEST_NAME = 240
"""Maximum length of a file name in bytes; leaves room for the name of the temporary file."""
PICTURES = (".png", ".svg", ".pdf")
"""File name extensions of pictures."""


def check_writable(path: Path, option: str) -> None:
    """Raise `BadInput` if ``path`` cannot be written."""
    check_path(option, path)
    folder = path.resolve().parent
    too_long = len(os.fsencode(path.resolve().name)) > LONGEST_NAME
    if too_long or path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(option, path, "a file in an existing folder that can be written")


def check_suffix(path: Path, option: str, *suffixes: str) -> None:
    """Raise `BadInput` unless the file name has one of the extensions, so that no other file is overwritten."""
    if path.suffix.lower() not in suffixes:
        raise BadInput(option, path, f"a file name that ends in {', '.join(suffixes)}")


def check_picture(path: Path, option: str) -> None:
    """Raise `BadInput` unless the file name has an extension of a picture."""
    check_suffix(path, option, *PICTURES)


def check_distinct(paths: Mapping[str, Path | None]) -> None:
    """Raise `BadInput` if two options name the same file."""
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise BadInput(option, path, f"another file than that of {other}")


def write_text(path: Path, text: str) -> None:
    """Write a text file completely or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file completely or not at all; NaN is an error."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path that replaces ``path`` at the end, and is deleted if anything fails.

    Links are followed, unless somebody else has put them into a folder in which everybody may write. Devices and pipes
    are written to directly. An error of the system, such as a full disk, is a `BadInput`.
    """
    path = followed(path, "file")
    direct = path.exists() and not path.is_file()
    try:
        with nullcontext(path) if direct else replaced(path, USUAL) as part:
            yield part
    except OSError as error:
        why = f"{error.strerror or error}.".replace("..", ".")
        raise BadInput("file", path, "a place that can be written to", f"The system says: {why}") from error
