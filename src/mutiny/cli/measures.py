"""``mutiny measures``."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny.cli import completion
from mutiny.cli.loading_message import loading
from mutiny.core.errors import called


@called("CODE", "measure", "measures")
def measures(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="Measure to explain, with its parameters.", autocompletion=completion.measures
        ),
    ] = None,
) -> None:
    """List suspiciousness measures."""
    with loading():
        from mutiny.cli.listing import explain, first_statement, show, show_refused
        from mutiny.verbs.locate.measures import MEASURES, as_measure

    if code is not None:
        explain([as_measure(code)])
        return
    show(
        ("code", "formula", "defined in"),
        [(kind.code, first_statement(kind), kind.source) for kind in MEASURES.values()],
        "ef, ep: failing and passing inputs on which a neuron is active; nf, np: on which it is silent; F, P: all.",
    )
    show_refused(MEASURES)
