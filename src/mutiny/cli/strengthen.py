"""``mutiny strengthen``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("strengthening")
def strengthen(
    budget: Annotated[str, typer.Option(help="How many inputs to label: 50, 0.01, 1%, or several: 1%,2%,5%.")] = "5%",
    pool: Annotated[
        str | None,
        typer.Option(help="A file or folder to choose from, labelled or not; the subject's pool if not given."),
    ] = None,
    operators: Annotated[
        str | None,
        typer.Option(help="Faults on trained models; those of the assessment in the store, or all, if not given."),
    ] = None,
    originals: Annotated[
        int | None, typer.Option(help="How many originals; those of the assessment if not given.")
    ] = None,
    compare: Annotated[
        str | None, typer.Option(help='Methods to compare with: "random,deepgini". `mutiny methods` lists all.')
    ] = None,
    tie_break: Annotated[
        str | None,
        typer.Option(
            help="The method that decides among equals, and fills the budget; the one that select takes if not given."
        ),
    ] = None,
    mutants: Annotated[
        int, typer.Option(help="Mutants of each operator for which is chosen, and as many others by which is judged.")
    ] = 5,
    repeats: Annotated[int, typer.Option(help="Repeat the measurement with other mutants, for intervals.")] = 5,
    minimise: Annotated[
        bool, typer.Option("--minimise", help="Also look for a small part of the test set that kills as much.")
    ] = False,
    synthesize: Annotated[
        int, typer.Option(help="Make at most so many inputs for mutants that the pool cannot kill; 0 for none.")
    ] = 20,
    exact: Annotated[
        bool, typer.Option("--exact", help="Assess on every input, if there is no assessment yet.")
    ] = False,
    indices: Annotated[
        Path | None, typer.Option(help="Write the indices to label, one per line, with file names if there are any.")
    ] = None,
    tests: Annotated[
        Path | None, typer.Option(help="Write the indices of the tests that are enough (--minimise), one per line.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write synthesised inputs to this .npz file.")] = None,
) -> None:
    """Which inputs would make the test set notice what slips through, and do they?"""
