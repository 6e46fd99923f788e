"""The file of a campaign, as the command line handles it: opened, told how to go on, closed whatever happens."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import typer

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import Interrupted, StoreFull
from mutiny.core.interrupts import interruptible

STOPPED = 3
"""Exit code: interrupted, and to be resumed."""


_user: ContextVar[Path | None] = ContextVar("_user", default=None)
"""Where the user is, while work is done in another folder."""


@contextmanager
def working_in(folder: Path | None) -> Iterator[None]:
    """Within, relative paths are those of a folder, if it is there; files are shown as the user sees them."""
    if folder is None or not folder.is_dir():
        yield
        return
    token = _user.set(Path.cwd())
    try:
        with chdir(folder):
            yield
    finally:
        _user.reset(token)


def command_of(verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A command in plain values, such that it means the same in another folder."""
    plain = {
        name: {"path": str(value.resolve())} if isinstance(value, Path) else value for name, value in arguments.items()
    }
    path, colon, name = str(plain["subject"]).rpartition(":")
    if colon and Path(path).is_file():
        plain["subject"] = f"{Path(path).resolve()}:{name}"
    return {"verb": verb, "arguments": plain, "folder": str(Path.cwd())}


def arguments_of(command: Mapping[str, Any]) -> dict[str, Any]:
    """What `command_of` made plain."""
    return {
        name: Path(value["path"]) if isinstance(value, dict) else value for name, value in command["arguments"].items()
    }


@contextmanager
def keeping(file: Path | None, command: Mapping[str, Any] | None) -> Iterator[SqliteStore | None]:
    """The open store; an interrupt ends with a sentence that says how to go on, and exit code 3."""
    if file is None:
        yield None
        return
    with SqliteStore(file) as store, interruptible(_finishing):
        store.command = command
        try:
            yield store
        except (Interrupted, KeyboardInterrupt):
            _say(f"interrupted; what is done is kept. Go on with: mutiny resume {shown(file)}")
            raise typer.Exit(STOPPED) from None
        except StoreFull as error:
            _say(f"{error} Then go on with: mutiny resume {shown(file)}")
            raise typer.Exit(STOPPED) from None


def shown(file: Path) -> str:
    """A file as the user would type it here, quoted for a shell.

    >>> shown(Path("digits.mutiny")), shown(Path("my digits.mutiny"))
    ('digits.mutiny', "'my digits.mutiny'")
    """
    return shlex.quote(near(file))


def near(file: Path) -> str:
    """A file by its shortest name from here, not quoted."""
    text = os.path.relpath(file, _user.get()) if file.is_absolute() else str(file)
    return str(file) if text.startswith("..") else text


def _finishing() -> None:
    _say("finishing what is under way; Ctrl-C again stops at once.")


def _say(sentence: str) -> None:
    sys.stderr.write(f"mutiny: {' '.join(sentence.split())}\n")
