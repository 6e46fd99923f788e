"""``mutiny report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import Json

Sources = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Files of campaigns, such as digits.mutiny, or JSON results.")
]


def report(
    files: Sources,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write an HTML page of everything that was found to this file.")
    ] = None,
    json: Json = None,
) -> None:
    """Shows the result of the last finished campaign of a file again, or writes a page; nothing is computed."""
    from mutiny.cli.reporting import run_report

    run_report(files, json, out)
