"""``mutiny assess``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("running")
def assess(
    operators: Annotated[
        str | None,
        typer.Option(
            help='Codes, with parameters if you like: "WI,NI(ratio=0.1)"; "all" with those before training. '
            "All on trained models if not given."
        ),
    ] = None,
    originals: Annotated[int | None, typer.Option(help="How many originals to use or train.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done and how long it takes.")] = False,
    fail_under: Annotated[float | None, typer.Option(help="Exit with 1 if the score is below this (0 to 1).")] = None,
    kills: Annotated[Path | None, typer.Option(help="Write which inputs kill which mutants to this .npz file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit XML report, for CI servers, to this file.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write a summary in Markdown to this file.")] = None,
    test: Annotated[
        str, typer.Option(help="auto, glm, welch, mann-whitney, wilcoxon, paired-t, fisher or mcnemar.")
    ] = "auto",
    alpha: Annotated[float, typer.Option(help="Significance level of the kill rule.")] = 0.05,
    beta: Annotated[
        float | None, typer.Option(help="Smallest effect of the kill rule; a medium one if not given.")
    ] = None,
    effect: Annotated[str, typer.Option(help="auto, cohen-d, a12 or cohen-g.")] = "auto",
    k_max: Annotated[int, typer.Option(help="Most repetitions of a mutant per original.")] = 5,
    rse: Annotated[float, typer.Option(help="Largest relative standard error of a stable mutant.")] = 0.05,
    precision: Annotated[float, typer.Option(help="A search stops at this width.")] = 5e-4,
    lower: Annotated[
        float | None, typer.Option(help="Lower bound of the strengths; the operator's own if not given.")
    ] = None,
    upper: Annotated[
        float | None, typer.Option(help="Upper bound of the strengths; the operator's own if not given.")
    ] = None,
    min_instances: Annotated[int, typer.Option(help="Fewest instances from which a standard error is believed.")] = 5,
    max_probes: Annotated[int | None, typer.Option(help="Most strengths tried per search.")] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Most seconds per search.")] = None,
    weak_share: Annotated[float, typer.Option(help="Share of the test inputs in the weak set.")] = 0.5,
    exact: Annotated[bool, typer.Option("--exact", help="Evaluate every mutant on every input.")] = False,
    confidence: Annotated[
        float, typer.Option(help="That a verdict is the one which all inputs would give, before the rest is left out.")
    ] = 0.999,
) -> None:
    """Would the test set notice if the network went wrong? This is mutation testing."""
