"""What all verbs but ``assess`` share: the engine, the store and the progress bar of one command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from rich.console import Console

from mutiny.cli.keeping import command_of, keeping, shown
from mutiny.engines.choosing import as_engine
from mutiny.reports.progress import TerminalProgress

FILES = ("inputs", "pool")
"""Options with a file or folder, or with a word that stands for data."""


@contextmanager
def engaged(
    verb: str,
    command: Mapping[str, Any] | None,
    *,
    store: Path | None,
    engine: str | None,
    workers: int | None,
    address: str | None,
    threads: int,
    quiet: bool,
) -> Iterator[dict[str, Any]]:
    """The arguments ``engine``, ``store`` and ``progress`` of a verb.

    Args:
        verb: that is called.
        command: its options, for ``mutiny resume``.
        store: the file.
        engine: its name.
        workers: processes.
        address: of a Ray cluster.
        threads: of each worker.
        quiet: whether there is no progress bar.
    """
    where = as_engine(engine, workers, address, threads)
    again = None if command is None else command_of(verb, _absolute(command))
    with keeping(store, again) as kept, nullcontext() if quiet else TerminalProgress(Console(stderr=True)) as progress:
        yield {"engine": where, "store": kept, "progress": progress}


def tell_where(console: Console, store: Path | None) -> None:
    """Says which file has the result."""
    if store is not None:
        console.print(f" Kept in {shown(store)}; the same command, or mutiny report, shows it again.", style="dim")


def _absolute(command: Mapping[str, Any]) -> dict[str, Any]:
    """The same with files that are found from any folder."""
    there = {name: command[name] for name in FILES if isinstance(command.get(name), str)}
    return {**command, **{name: str(Path(text).resolve()) for name, text in there.items() if Path(text).exists()}}
