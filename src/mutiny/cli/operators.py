"""``mutiny operators``."""

from __future__ import annotations

from typing import Annotated

import typer


def operators(
    code: Annotated[str | None, typer.Argument(help="Explain this one with all its parameters.")] = None,
) -> None:
    """Which faults can be injected, and where each was defined."""
    from mutiny.cli.catalogue import explain, show, summary
    from mutiny.operators import ALL
    from mutiny.operators.parsing import as_operators

    if code is not None:
        explain(as_operators(code))
        return
    rows = []
    for kind in ALL:
        strength = next(iter(kind.tunable), None)
        bounds = f"{strength} {kind.tunable[strength][0]:g} to {kind.tunable[strength][1]:g}" if strength else "-"
        rows.append((kind.code, summary(kind), bounds, kind.source.partition(";")[0]))
    show(
        ("code", "what it does", "strength", "defined in"), rows,
        "Parameters go in brackets: NI(ratio=0.1, direction=incoming). `mutiny operators NI` explains them.",
    )  # fmt: skip
