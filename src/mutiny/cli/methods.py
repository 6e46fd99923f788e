"""``mutiny methods``."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny.cli import completion
from mutiny.cli.loading_message import loading
from mutiny.core.errors import called


@called("CODE", "method", "methods")
def methods(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="Method to explain, with its parameters.", autocompletion=completion.methods
        ),
    ] = None,
) -> None:
    """List methods that rank inputs for labeling."""
    with loading():
        from mutiny.cli.listing import explain, first_statement, show, show_refused
        from mutiny.verbs.select import METHODS
        from mutiny.verbs.select.parsing import as_methods

    if code is not None:
        explain(as_methods(code))
        return
    show(
        ("code", "what it prefers", "defined in"),
        [(kind.code, first_statement(kind), kind.source.partition(";")[0]) for kind in METHODS.values()],
        "Parameters go in brackets: nss(share=0.2). `mutiny methods nss` explains them; deepgini+dsa combines two.",
    )
    show_refused(METHODS)
