"""``mutiny repair``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mutiny.cli.options import verb


@verb("repairing")
def repair(
    method: Annotated[
        str,
        typer.Option(
            help='"search" (new values for the weights to blame), "scale" (factors for neurons) or "tune" (training '
            'of the suspects); with parameters: "search(generations=50)".'
        ),
    ] = "search",
    target: Annotated[
        str,
        typer.Option(
            help="Which failures: all, confusion (the most frequent one), or two classes such as 3,5: the true one and "
            "the one that is said."
        ),
    ] = "all",
    inputs: Annotated[
        str | None, typer.Option(help="A file or folder of labelled inputs; the test set if not given.")
    ] = None,
    layers: Annotated[
        str | None, typer.Option(help='Layers that may change, names or patterns joined by "+"; all if not given.')
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Write the repaired weights to this .safetensors file.")] = None,
    patch: Annotated[Path | None, typer.Option(help="Write the changed weights alone to a .safetensors file.")] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Write also what is no repair.")] = False,
) -> None:
    """Can failures be mended? Exit code 1 if no repair was found."""
