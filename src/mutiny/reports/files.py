"""Output files: checked before work starts, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from mutiny.core.errors import BadInput

LONGEST_NAME = 240
"""Bytes of a file name, with room for the name of its unfinished part."""
PICTURES = (".png", ".svg", ".pdf")
"""How names of pictures end."""


def check_writable(path: Path, option: str) -> None:
    """Raises `BadInput` now if ``path`` could not be written later."""
    folder = path.resolve().parent
    too_long = len(os.fsencode(path.resolve().name)) > LONGEST_NAME
    if too_long or path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(option, path, "a file in an existing folder that can be written")


def check_picture(path: Path, option: str) -> None:
    """Raises `BadInput` unless the file's name ends like a picture's."""
    if path.suffix.lower() not in PICTURES:
        raise BadInput(option, path, f"a file name that ends in {', '.join(PICTURES)}")


def check_distinct(paths: Mapping[str, Path | None]) -> None:
    """Raises `BadInput` if two options name the same file."""
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None:
            continue
        other = seen.setdefault(path.resolve(), option)
        if other != option:
            raise BadInput(option, path, f"another file than that of {other}")


def write_text(path: Path, text: str) -> None:
    """Writes ``text``, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes ``path`` at the end and vanishes if anything fails.

    Links are followed; devices and pipes are written to as they are, never replaced. What the system refuses, such as
    to write to a full disk, is a `BadInput`.
    """
    path = path.resolve()
    as_it_is = path.exists() and not path.is_file()
    part = path if as_it_is else path.with_name(f".{path.name}.part")
    try:
        yield part
        if not as_it_is:
            part.replace(path)
    except OSError as error:
        why = f"{error.strerror or error}.".replace("..", ".")
        raise BadInput("file", path, "a place that can be written to", f"The system says: {why}") from error
    finally:
        if not as_it_is:
            with suppress(OSError):
                part.unlink(missing_ok=True)
