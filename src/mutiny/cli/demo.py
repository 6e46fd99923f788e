"""``mutiny demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny.cli.options import Seed


def demo(
    originals: Annotated[int, typer.Option(help="How many networks to train.")] = 10,
    seed: Seed = 0,
) -> None:
    """Trains small networks on handwritten digits and asks whether their test set would notice faults."""
    from rich.console import Console

    from mutiny.cli.running import run_assess

    console = Console()
    console.print(
        f"\n [bold]mutiny[/]  Would a test set notice if a neural network went wrong?\n\n"
        f" Training {originals} small CNNs on scikit-learn's digits, injecting faults of growing strength,\n"
        f" and asking which of them 449 test images notice.",
        highlight=False,
    )
    run_assess("digits", None, console=console, operators="WI,NI,GF,NEB,NS,LR", originals=originals, seed=seed)
    console.print(
        " Next: [bold]mutiny assess your_file.py:subject[/] for a model of your own (see README.md),\n"
        "       [bold]mutiny operators[/] for all kinds of faults, [bold]mutiny assess --help[/] for the rest.\n",
        highlight=False,
    )
