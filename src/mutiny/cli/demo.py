"""``mutiny demo``."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny.cli.options import Seed


def demo(
    originals: Annotated[int, typer.Option(help="How many networks to train.")] = 20,
    seed: Seed = 0,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no HTML page.")] = False,
) -> None:
    """Trains small networks on handwritten digits and asks whether their test set would notice faults."""
    from rich.console import Console

    from mutiny.cli.running import run_assess

    console = Console()
    console.print(
        f"\n [bold]mutiny[/]  Would a test set notice if a neural network went wrong?\n\n"
        f" Trains {originals} small CNNs on scikit-learn's digits, injects faults, and asks which\n"
        f" of them 449 test images notice. Takes about a minute.",
        highlight=False,
    )
    options = {"subject": "digits", "operators": "WI,NI,GF,NEB,NS,LR", "originals": originals, "seed": seed}
    result = run_assess({**options, "no_store": True}, console)
    if not no_report:
        from mutiny.cli.paging import demo_page

        told = demo_page(result, f"mutiny demo --originals {originals} --seed {seed}")
        console.print(f"\n {told}", highlight=False, markup=False)
    console.print(
        "\n Next: [bold]mutiny assess FILE.py:NAME[/] for a model of your own (README.md shows how),\n"
        "       [bold]mutiny operators[/] for all faults, [bold]mutiny assess --help[/] for the rest.\n",
        highlight=False,
    )
