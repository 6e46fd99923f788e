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
