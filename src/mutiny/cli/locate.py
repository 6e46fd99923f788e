"""``mutiny locate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("locating")
def locate(
    measure: Annotated[
        str, typer.Option(help='Of suspicion: "ochiai", "tarantula", "dstar(power=2)". `mutiny measures` lists all.')
    ] = "ochiai",
    k: Annotated[int, typer.Option("--k", help="How many suspects.")] = 10,
    inputs: Annotated[
        str | None, typer.Option(help="A file or folder of labelled inputs; the test set if not given.")
    ] = None,
    label: Annotated[int | None, typer.Option(help="Only inputs of this class.")] = None,
    by_class: Annotated[bool, typer.Option("--by-class", help="Also the suspects of each class.")] = False,
    active: Annotated[
        str,
        typer.Option(help='When a neuron is active: a threshold, "quantile(share=0.9)" or "scaled(threshold=0.5)".'),
    ] = "0",
    at: Annotated[str, typer.Option(help="Where it is read: signal (after the activation) or output (before it).")] = (
        "signal"
    ),
    silent: Annotated[bool, typer.Option("--silent", help="Look for neurons that are silent on failures.")] = False,
    layers: Annotated[
        str | None, typer.Option(help='Names or patterns joined by "+"; all hidden layers if not given.')
    ] = None,
    validate: Annotated[
        int, typer.Option(help="Silence the suspects, and so many times random neurons of their layers.")
    ] = 20,
    synthesize: Annotated[
        int, typer.Option(help="Change so many passing inputs until the suspects say more, and see whether they fail.")
    ] = 0,
    rms: Annotated[
        bool, typer.Option("--rms", help="Divide gradients by their root mean square first, as DeepFault's code did.")
    ] = False,
    save: Annotated[Path | None, typer.Option(help="Write synthesised inputs to this .npz file.")] = None,
    grid: Annotated[Path | None, typer.Option(help="Draw some of them: .png, .svg or .pdf.")] = None,
) -> None:
    """Which neurons are to blame for failures?"""
