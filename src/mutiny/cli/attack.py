"""``mutiny attack``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("attacking")
def attack(
    attack: Annotated[
        str,
        typer.Option(help='"pgd", "fgsm", "carlini" or "autoattack"; with parameters: "pgd(norm=l2, iterations=20)".'),
    ] = "pgd",
    eps: Annotated[
        str | None,
        typer.Option(help="How far inputs may go; several: 0.1,0.2,0.3. Not for carlini.", show_default="0.1"),
    ] = None,
    mutants: Annotated[int, typer.Option(help="Mutants that attack with the model; 0: the model alone.")] = 5,
    kind: Annotated[str, typer.Option(help="Which mutants: diverse, random or similar.")] = "diverse",
    operators: Annotated[str, typer.Option(help="That make them.")] = "GF,WS,NEB,NAI,NS",
    ratios: Annotated[str, typer.Option(help="Shares of weights or neurons that they change.")] = "0.01,0.02,0.03,0.04",
    iterations: Annotated[
        int, typer.Option(help="Mutants that are made for a diverse choice; steps are --attack 'pgd(iterations=...)'.")
    ] = 50,
    floor: Annotated[float, typer.Option(help="Least share of the accuracy that a mutant must keep.")] = 0.0,
    combine: Annotated[str, typer.Option(help="What is averaged: gradients, logits or probabilities.")] = "gradients",
    beside: Annotated[
        str | None, typer.Option(help="Other attacks on the model alone, for comparison: autoattack.")
    ] = None,
    count: Annotated[int, typer.Option(help="Inputs that are attacked, drawn at random.")] = 500,
    low: Annotated[float, typer.Option(help="Least value of an input's numbers.")] = 0.0,
    high: Annotated[float, typer.Option(help="Largest value of an input's numbers.")] = 1.0,
    inputs: Annotated[
        str | None, typer.Option(help="A file or folder of labelled inputs; the test set if not given.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write adversarial inputs to this .npz file.")] = None,
    grid: Annotated[Path | None, typer.Option(help="Draw some of them: .png, .svg or .pdf.")] = None,
    batch_size: Annotated[int, typer.Option(help="Inputs per pass.")] = 128,
) -> None:
    """How robust is the model, attacked alone and with its mutants?"""
