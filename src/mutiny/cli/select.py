"""``mutiny select``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("selecting")
def select(
    method: Annotated[
        str | None,
        typer.Option(help='How to rank: "deepgini", "dsa(by=coverage)", "deepgini+dsa". `mutiny methods` lists all.'),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help='Compare several: "nss,deepgini,dsa,random", or "all".'),
    ] = None,
    budget: Annotated[str, typer.Option(help="How many inputs to label: 500, 0.05 or 5%.")] = "5%",
    pool: Annotated[
        str | None,
        typer.Option(
            help="A file or folder to choose from, test, or mutated (benign mutations of test). The subject's pool, or "
            "else its test set, if not given."
        ),
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(help='Where to read features: names or patterns joined by "+", or encoder, hidden, all.'),
    ] = None,
    diverse: Annotated[bool, typer.Option("--diverse", help="Avoid inputs that look alike to the model.")] = False,
    repeats: Annotated[int, typer.Option(help="Repeat with other seeds, for intervals.")] = 1,
    originals: Annotated[int | None, typer.Option(help="How many originals take part; the first is tested.")] = None,
    indices: Annotated[
        Path | None, typer.Option(help="Write the indices to label, one per line, with file names if there are any.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw faults against labels: .png, .svg or .pdf.")] = None,
) -> None:
    """Which unlabelled inputs should be labelled first, because the network probably gets them wrong?"""
