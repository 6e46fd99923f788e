"""What all verbs share on the command line: outputs refused early, a subject, an engine, a store, a progress bar."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console, RenderableType

from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.stores.naming import file_for
from mutiny.cli.keeping import command_of, keeping, shown
from mutiny.cli.verbs import VERBS
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.results import Result
from mutiny.reports.files import check_distinct, check_picture, check_writable
from mutiny.reports.json import write_json
from mutiny.reports.progress import TerminalProgress
from mutiny.subjects import Subject, load_subject

HANDLED = frozenset("subject data store no_store engine workers address threads json quiet".split())
"""Options that `Call` sees to; a verb is not given them."""
FILES = ("inputs", "pool")
"""Options with a file or folder."""
WORDS = {"select": ("test", "mutated")}
"""Words that stand for data in some verbs, even where a file has that name."""
PICTURES = ("--plot", "--grid")


class Call:
    """One command and its options.

    Args:
        verb: that is called.
        options: as the command's function got them; what is missing is as usual.
        console: where the result is shown.

    Attributes:
        own: options that not every verb has.
        store: the file of the campaign; ``None`` if nothing is kept.
    """

    def __init__(self, verb: str, options: Mapping[str, Any], console: Console | None = None) -> None:
        known = inspect.signature(VERBS[verb]).parameters
        usual = {name: one.default for name, one in known.items() if one.default is not inspect.Parameter.empty}
        self.verb, self.options, self.console = verb, {**usual, **options}, console or Console()
        self.own = {name: value for name, value in self.options.items() if name not in HANDLED}
        kept = self.options["store"] or file_for(self.options["subject"])
        self.store: Path | None = None if self.options["no_store"] else kept
        self.quiet: bool = self.options["quiet"]

    def take(self, *names: str) -> tuple[Any, ...]:
        """Own options that the verb itself does not know."""
        return tuple(self.own.pop(name) for name in names)

    def check(self, outputs: Mapping[str, Path | None], suffixes: Mapping[str, str] | None = None) -> None:
        """Refuses files that could not be written, and a nonsensical number of threads, before anything is done.

        Args:
            outputs: by option, beside ``--json``.
            suffixes: how the names of some must end.
        """
        paths = {"--json": self.options["json"], **outputs}
        for option, path in paths.items():
            if path is None:
                continue
            check_writable(path, option)
            if option in PICTURES:
                check_picture(path, option)
            suffix = (suffixes or {}).get(option)
            if suffix is not None and path.suffix.lower() != suffix:
                raise BadInput(option, path, f"a file name that ends in {suffix}")
        check_distinct({**paths, "--store": self.store})
        check_whole("--threads", self.options["threads"])

    def subject(self) -> Subject:
        """Loads it; from now on torch computes with as many threads as were asked for."""
        torch.set_num_threads(self.options["threads"])
        return load_subject(self.options["subject"], self.options["data"])

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """The arguments ``engine``, ``store`` and ``progress`` of a verb."""
        where = as_engine(*(self.options[name] for name in ("engine", "workers", "address", "threads")))
        command = command_of(self.verb, _absolute(self.options, WORDS.get(self.verb, ())))
        with keeping(self.store, command) as kept, self.progress() as progress:
            yield {"engine": where, "store": kept, "progress": progress}

    @contextmanager
    def progress(self) -> Iterator[TerminalProgress | None]:
        """A bar, unless nothing is to be said."""
        with nullcontext() if self.quiet else TerminalProgress(Console(stderr=True)) as progress:
            yield progress

    def show(self, text: RenderableType) -> None:
        """Prints the result and which file has it, unless nothing is to be said."""
        if self.quiet:
            return
        try:
            self.console.print(text)
            if self.store is not None:
                where = f" Kept in {shown(self.store)}; the same command, or mutiny report, shows it again."
                self.console.print(where, style="dim", markup=False)
        except BrokenPipeError:
            raise  # whoever reads has seen enough
        except OSError as error:
            again = "" if self.store is None else "The result is kept: the same command shows it again."
            raise BadInput("output", "<the result>", f"a place to print it ({error.strerror})", again) from error

    def write(self, result: Result, **more: Any) -> None:
        """Writes the JSON, if it was asked for, with what else belongs to it."""
        if self.options["json"] is not None:
            write_json(self.options["json"], {**result.to_json(), **more})


def names_of(text: str | None) -> list[str] | None:
    """Names that are joined by a plus.

    >>> names_of("fc1 + fc2"), names_of(None)
    (['fc1', 'fc2'], None)
    """
    return [name.strip() for name in text.split("+")] if text else None


def _absolute(command: Mapping[str, Any], words: Collection[str]) -> dict[str, Any]:
    """The same with files that are found from any folder."""
    there = {name: text for name in FILES if isinstance(text := command.get(name), str) and text not in words}
    return {**command, **{name: str(Path(text).resolve()) for name, text in there.items() if Path(text).exists()}}
