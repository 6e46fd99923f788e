"""``mutiny methods``."""

from __future__ import annotations

from typing import Annotated

import typer


def methods(
    code: Annotated[str | None, typer.Argument(help="Explain this one with all its parameters.")] = None,
) -> None:
    """How inputs can be ranked for labelling, and where each way was defined."""
    from mutiny.cli.catalogue import explain, show, summary
    from mutiny.verbs.select import ALL
    from mutiny.verbs.select.parsing import as_methods

    if code is not None:
        explain(as_methods(code))
        return
    show(
        ("code", "what it prefers", "defined in"),
        [(kind.code, summary(kind), kind.source.partition(";")[0]) for kind in ALL],
        "Parameters go in brackets: nss(share=0.2). `mutiny methods nss` explains them; deepgini+dsa combines two.",
    )
