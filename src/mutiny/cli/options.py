"""Options that mean the same in every command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
