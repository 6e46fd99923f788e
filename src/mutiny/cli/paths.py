"""Paths as the user types them in the working folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from contextvars import ContextVar
from pathlib import Path

from mutiny.core.printable import quoted

_user_folder: ContextVar[Path | None] = ContextVar("_user_folder", default=None)
"""The user's working folder while a command runs in another folder."""


@contextmanager
def working_in(folder: Path | None) -> Iterator[None]:
    """Change to a folder, if it exists; paths are still shown relative to the user's working folder."""
    if folder is None or not folder.is_dir():
        yield
        return
    token = _user_folder.set(Path.cwd())
    try:
        with chdir(folder):
            yield
    finally:
        _user_folder.reset(token)


def quoted_path(file: Path) -> str:
    """The shortest path to a file from the working folder, quoted for a shell.

    >>> quoted_path(Path("digits.mutiny")), quoted_path(Path("my digits.mutiny"))
    ('digits.mutiny', "'my digits.mutiny'")
    """
    return quoted(short_path(file))


def short_path(file: Path) -> str:
    """The shortest path to a file from the working folder, not quoted."""
    text = os.path.relpath(file, _user_folder.get()) if file.is_absolute() else str(file)
    return str(file) if text.startswith("..") else text
