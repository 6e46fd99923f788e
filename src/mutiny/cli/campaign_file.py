"""The campaign file of a command: opened, told how to resume, and closed whatever happens."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mutiny.cli.paths import quoted_path

if TYPE_CHECKING:
    from mutiny.campaigns.stores.sqlite import SqliteStore

STOPPED = 3
"""Exit code of a command that was interrupted and can be resumed."""


@contextmanager
def open_store(file: Path | None, command: Mapping[str, Any] | None) -> Iterator[SqliteStore | None]:
    """The open store; after an interrupt, say how to resume and exit with code 3."""
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.errors import Interrupted, StoreFull
    from mutiny.core.interrupts import interruptible

    if file is None:
        yield None
        return
    with SqliteStore(file) as store, interruptible(_finishing):
        store.command = command
        try:
            yield store
        except (Interrupted, KeyboardInterrupt):
            _say(f"interrupted; finished work is kept. Resume with: mutiny resume {quoted_path(file)}")
            raise typer.Exit(STOPPED) from None
        except StoreFull as error:
            _say(f"{error} Then resume with: mutiny resume {quoted_path(file)}")
            raise typer.Exit(STOPPED) from None


def _finishing() -> None:
    _say("finishing running jobs; press Ctrl-C again to stop at once.")


def _say(sentence: str) -> None:
    sys.stderr.write(f"mutiny: {' '.join(sentence.split())}\n")
