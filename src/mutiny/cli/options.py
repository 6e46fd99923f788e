"""Help panels, and the options that mean the same in every command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from mutiny.cli import completion
from mutiny.core.limits import VARIABLE, limited

TEST, JUDGE, RUN, WRITE = "What to test", "How to judge", "How to run", "What to write"
MUFF = "Method muff"
"""Titles of the help panels; options without a panel come first."""


def option(help: str, panel: str | None = None, *flags: str, complete: Callable[[str], Any] | None = None) -> Any:
    """An option for ``Annotated``.

    Args:
        help: Help text.
        panel: Help panel; the first one by default.
        flags: Names of the option; made from the parameter's name by default.
        complete: Completion function, from an incomplete value to its completions.
    """
    return typer.Option(*flags, help=help, rich_help_panel=panel, autocompletion=complete)


SubjectName = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT",
        help="Built-in subject (digits, mnist, ...), FILE.py:NAME or MODULE:NAME.",
        autocompletion=completion.subjects,
    ),
]
CampaignFile = Annotated[Path, typer.Argument(metavar="FILE", help="Campaign file, such as digits.mutiny.")]
LabeledInputs = Annotated[str | None, option("File or folder of labeled inputs; the test set by default.")]
Indices = Annotated[Path | None, option("File for the indices to label, one per line, with file names if known.")]
DataFolder = Annotated[
    Path | None,
    typer.Option(
        "--data", envvar="MUTINY_DATA", help="Folder with data sets, for mnist and similar.", rich_help_panel=TEST
    ),
]
Seed = Annotated[int, option("Random seed; the same seed gives the same result.", RUN)]
Device = Annotated[str | None, option("Device to run on, such as cuda; the model's device by default.", RUN)]
Threads = Annotated[
    int, option("CPU threads; more than one helps only large networks, and results may differ by rounding.", RUN)
]
BatchSize = Annotated[int | None, option("Inputs per forward pass; measured by default.", RUN)]
Engine = Annotated[
    str | None,
    option(
        "Where jobs run: serial, processes or ray; processes by default with several workers.",
        RUN,
        complete=completion.engines,
    ),
]
Workers = Annotated[int | None, option("Number of worker processes.", RUN)]
Address = Annotated[str | None, option("Ray cluster address; starts a local cluster by default.", RUN)]
Limit = Annotated[
    str | None,
    typer.Option(
        "--limit",
        envvar=VARIABLE,
        metavar="SIZE",
        help="Most memory that a file may take, such as 64GB; by default less for small files.",
        rich_help_panel=RUN,
    ),
]
StoreFile = Annotated[
    Path | None,
    option("Campaign file for finished work; named after the subject by default.", RUN, "--store"),
]
NoStore = Annotated[bool, option("Do not keep finished work in a campaign file.", RUN, "--no-store")]
Json = Annotated[Path | None, option("JSON file for the complete result.", WRITE, "--json")]
Quiet = Annotated[bool, option("Show only errors: no table, no progress.", WRITE, "--quiet", "-q")]

SHARED: dict[str, tuple[Any, Any]] = {
    "data": (DataFolder, None),
    "seed": (Seed, 0),
    "device": (Device, None),
    "threads": (Threads, 1),
    "batch_size": (BatchSize, None),
    "engine": (Engine, None),
    "workers": (Workers, None),
    "address": (Address, None),
    "limit": (Limit, None),
    "store": (StoreFile, None),
    "no_store": (NoStore, False),
    "json": (Json, None),
    "quiet": (Quiet, False),
}
"""Options of every verb, after its own: type and default by name."""


def with_limit(function: Callable[..., None]) -> Callable[..., None]:
    """A command on files with the option ``--limit``."""

    @wraps(function)
    def command(*arguments: Any, limit: str | None = None, **options: Any) -> None:
        with limited(limit):
            function(*arguments, **options)

    limit = inspect.Parameter("limit", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Limit)
    parameters = [*inspect.signature(function, eval_str=True).parameters.values(), limit]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


PANELS = (None, TEST, JUDGE, RUN, WRITE, MUFF)
"""Order of the help panels."""
