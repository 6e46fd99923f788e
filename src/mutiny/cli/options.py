"""Options that mean the same in every command, and how a command gets them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

SubjectName = Annotated[
    str, typer.Argument(metavar="SUBJECT", help="A built-in (digits, mnist, ...), FILE.py:NAME or MODULE:NAME.")
]
Seed = Annotated[int, typer.Option(help="One seed, one answer.")]
Device = Annotated[str | None, typer.Option(help="Where to evaluate, e.g. cuda; where the models are if not given.")]
Threads = Annotated[
    int, typer.Option(help="CPU threads. More pay off for large networks only; answers may differ by rounding.")
]
Json = Annotated[Path | None, typer.Option("--json", help="Write the complete result to this file.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No table, no progress; errors only.")]
DataFolder = Annotated[
    Path | None, typer.Option("--data", envvar="MUTINY_DATA", help="Folder with data sets, for mnist and the like.")
]
Engine = Annotated[
    str | None,
    typer.Option(help="Where tasks run: serial, processes or ray. processes if there are several workers."),
]
Workers = Annotated[int | None, typer.Option(help="Processes that work at once.")]
Address = Annotated[str | None, typer.Option(help="Of a Ray cluster; without it ray starts one on this machine.")]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        "--store", help="Keep what is done in this file; in the working folder, named after the subject, if not given."
    ),
]
NoStore = Annotated[bool, typer.Option("--no-store", help="Keep nothing.")]
Campaigns = Annotated[Path, typer.Argument(metavar="FILE", help="The file of a campaign, such as digits.mutiny.")]
BatchSize = Annotated[int | None, typer.Option(help="Inputs per forward pass; measured if not given.")]

SHARED: dict[str, tuple[Any, Any]] = {
    "seed": (Seed, 0),
    "json": (Json, None),
    "quiet": (Quiet, False),
    "batch_size": (BatchSize, None),
    "device": (Device, None),
    "threads": (Threads, 1),
    "engine": (Engine, None),
    "workers": (Workers, None),
    "address": (Address, None),
    "store": (StoreFile, None),
    "no_store": (NoStore, False),
    "data": (DataFolder, None),
}
"""What every verb has behind its own options: type and default by name."""
KIND = inspect.Parameter.KEYWORD_ONLY


def verb(module: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a verb's command of a function that has nothing but options of its own.

    The command also takes the subject, first, and the options of `SHARED` that the function does not have itself. All
    of them go to ``run_NAME`` of a module, which is imported only then: help must be fast.

    Args:
        module: of ``mutiny.cli``.
    """

    def made(function: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(function, include_extras=True)
        own = {name: (hints[name], one.default) for name, one in inspect.signature(function).parameters.items()}
        shared = {name: told for name, told in SHARED.items() if name not in own}
        parameters = [inspect.Parameter("subject", KIND, annotation=SubjectName)]
        parameters += [
            inspect.Parameter(name, KIND, default=default, annotation=hint)
            for name, (hint, default) in {**own, **shared}.items()
        ]

        @wraps(function)
        def command(**options: Any) -> None:
            getattr(import_module(f"mutiny.cli.{module}"), f"run_{function.__name__}")(options)

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        del command.__wrapped__
        return command

    return made
