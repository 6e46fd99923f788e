"""One run of a verb's command: check outputs, load the subject, open engine and store, show and write the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
import typer
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text

from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.ownership import announce, withdraw
from mutiny.campaigns.stores.base import file_for
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.paths import quoted_path
from mutiny.cli.stored_command import resume_line, to_stored
from mutiny.cli.streams import say
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, Interrupted, MutinyError, StoreError, StoreFull, StoreLost
from mutiny.core.interrupts import interruptible
from mutiny.core.memory_errors import ADVICE, is_out_of_memory
from mutiny.core.results import Result, now
from mutiny.core.user_key import key_problem
from mutiny.reports.files import check_distinct, check_picture, check_suffix, check_writable, write_json
from mutiny.reports.image_grid import images
from mutiny.reports.progress import TerminalProgress
from mutiny.reports.terminal import Output, PlainConsole
from mutiny.subjects import Subject, load_subject
from mutiny.subjects.builtin import BUILTIN
from mutiny.subjects.data import Data, as_pool

PICTURES = ("--plot", "--grid")
"""Options that name a picture."""
STOPPED = 3
"""Exit code of a command that was interrupted and can be resumed."""
AGAIN = "Give the same command again: it goes on from there."
"""What to do where there is nothing to resume, or all of it is finished."""


class Invocation:
    """One run of a verb's command.

    Args:
        verb: Name of the verb.
        options: Values of all options of the command, and the subject.
        console: Console for the result.

    Attributes:
        store: Campaign file; ``None`` if finished work is not kept.
        settings: Arguments that every verb takes: ``seed``, ``device``, ``batch_size`` and ``threads``.
        stopped: Whether the exit code is that of an interrupt, although there is a result.
    """

    def __init__(self, verb: str, options: Mapping[str, Any], console: Console | None = None) -> None:
        if options["subject"] not in BUILTIN and str(options["data"]) == os.environ.get("MUTINY_DATA"):
            options = {**options, "data": None}  # the variable is set for built-in subjects
        self.verb, self.options = verb, options
        if options["store"] is not None and options["no_store"]:
            fix = "Leave out one of them."
            raise BadInput("--store", options["store"], "a campaign file only without --no-store", fix)
        self.store: Path | None = None if options["no_store"] else options["store"] or file_for(options["subject"])
        self.console = console or Output(
            "" if self.store is None else "The result is kept: run the same command to show it again."
        )
        self.quiet: bool = options["quiet"]
        self.settings = {name: options[name] for name in ("seed", "device", "batch_size", "threads")}
        self.stopped = self._loaded = False

    def aliases(self, aliases: Mapping[str, str]) -> Mapping[str, str]:
        """Options by Python argument; those of `load_subject` until the subject is loaded."""
        return aliases if self._loaded else {**aliases, "data": "data", "name": "subject"}

    def check(self, outputs: Mapping[str, Path | None], suffixes: Mapping[str, str] | None = None) -> None:
        """Raise `BadInput` if a file cannot be written, or for an invalid number of threads, before work starts.

        Args:
            outputs: Files by option, besides ``--json``.
            suffixes: Required endings of file names, by option.
        """
        paths = {"--json": self.options["json"], **outputs}
        for option, path in paths.items():
            if path is None:
                continue
            check_writable(path, option)
            if option in PICTURES:
                check_picture(path, option)
            if suffixes is not None and option in suffixes:
                check_suffix(path, option, suffixes[option])
        check_distinct({**paths, "--store": self.store})
        check_whole("--threads", self.options["threads"])

    def subject(self) -> Subject:
        """Load the subject, and set the number of threads of torch."""
        torch.set_num_threads(self.options["threads"])
        subject = load_subject(self.options["subject"], self.options["data"])
        self._loaded = True
        return subject

    def subject_and_inputs(self, text: str | None, grid: Path | None = None) -> tuple[Subject, Data | None]:
        """Load the subject, and the data that ``--inputs`` names.

        Args:
            text: Value of ``--inputs``; ``None`` for the test set.
            grid: File for a picture of inputs, which must be images then.
        """
        subject = self.subject()
        data = None if text is None else as_pool(text, "--inputs")
        if grid is not None:
            images((subject.test if data is None else data).first(1), grid)
        return subject, data

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """The arguments that all verbs share: `settings`, ``engine``, ``store`` and ``progress``."""
        engine = as_engine(*(self.options[name] for name in ("engine", "workers", "address", "threads")))
        if engine.trusted and not self.quiet:
            say(engine.trusted)
        command = to_stored(self.verb, self.options)
        if self.store is not None and not self.quiet and (problem := key_problem(create=True)):
            say(f"{problem} Until then, `mutiny resume` asks for --trust.")
        with open_store(self.store, command, self._resume_line) as store, self.progress() as progress:
            yield {**self.settings, "engine": engine, "store": store, "progress": progress}
        if self.store is not None and store is not None and store.path != self.store.resolve():  # it was lost
            self.store, self.stopped = store.path, True

    def _resume_line(self, file: Path) -> str:
        return resume_line(file, self.options)

    @contextmanager
    def progress(self) -> Iterator[TerminalProgress | None]:
        """A progress bar, unless the command is quiet."""
        with nullcontext() if self.quiet else TerminalProgress(PlainConsole(stderr=True)) as progress:
            yield progress

    def show(self, text: RenderableType) -> None:
        """Print the result and the file that keeps it, unless the command is quiet."""
        if self.quiet:
            return
        self.console.print(text, crop=False)  # a command that is too long for a line stays whole
        if self.store is not None:
            file = quoted_path(self.store)
            kept = Text(f"Kept in {file}; the same command shows it again, and so does mutiny report {file}.", "dim")
            self.console.print(Padding(kept, (0, 1), expand=False))

    def write_and_show(self, result: Result, text: RenderableType) -> None:
        """Write the result to the file of ``--json``, if there is one, and print its text."""
        self.write(result)
        self.show(text)

    def write(self, result: Result, **more: Any) -> None:
        """Write the result to the file of ``--json``, if there is one, with further entries."""
        if self.options["json"] is not None:
            write_json(self.options["json"], {**result.to_json(), **more})


@contextmanager
def open_store(
    file: Path | None, command: Mapping[str, Any], resuming: Callable[[Path], str]
) -> Iterator[SqliteStore | None]:
    """The open store of a campaign file, which has the command from the first moment, so that it can be resumed.

    After an interrupt, if the disk is full, if memory runs out, or if the file was deleted, replaced or truncated, a
    message says how to go on, and the exit code is 3. If the file was lost at the very end, there is only a message.

    Args:
        file: Campaign file; ``None`` for none.
        command: Command to store with the campaign.
        resuming: Function that returns the command which resumes the campaign in a file.
    """
    if file is None:
        yield None
        return
    done = False
    try:
        with SqliteStore(file) as store, interruptible(_say_finishing):
            if store.incomplete:
                say(store.incomplete)
            store.command = command
            announce(store, command, now())
            try:
                yield store
                done = True
            except (Interrupted, StoreError):
                raise
            except MutinyError:
                withdraw(store)  # the same command would end in the same way
                raise
    except (Interrupted, KeyboardInterrupt):
        say(f"interrupted; finished work is kept. {_next_command(file, resuming)}")
        raise typer.Exit(STOPPED) from None
    except StoreFull as error:
        say(f"{error} {_next_command(file, resuming, 'Then resume with')}")
        raise typer.Exit(STOPPED) from None
    except StoreLost as error:
        kept = store.path != file.resolve()
        say(f"{error}{f' Resume with: {resuming(store.path)}' * (kept and not done)}")
        if not done:
            raise typer.Exit(STOPPED) from None
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        say(f"out of memory; finished work is kept. {ADVICE} {_next_command(file, resuming, 'Then resume with')}")
        raise typer.Exit(STOPPED) from None


def _next_command(file: Path, resuming: Callable[[Path], str], words: str = "Resume with") -> str:
    """A sentence with the command to give next: that which resumes a campaign if one is unfinished."""
    try:
        with SqliteStore(file, write=False) as store:
            unfinished = any(not store.tally(campaign.id).finished for campaign in store.campaigns())
    except (MutinyError, OSError, MemoryError):  # there is no campaign yet, or it cannot be read now
        return AGAIN
    return f"{words}: {resuming(file)}" if unfinished else AGAIN


def _say_finishing() -> None:
    say("finishing running jobs; press Ctrl-C again to stop at once.")


def split_names(text: str | None) -> list[str] | None:
    """Names joined by a plus sign.

    >>> split_names("fc1 + fc2"), split_names(None)
    (['fc1', 'fc2'], None)
    """
    return [name.strip() for name in text.split("+")] if text else None
