"""``mutiny measures``."""

from __future__ import annotations

from typing import Annotated

import typer


def measures(
    code: Annotated[str | None, typer.Argument(help="Explain this one with all its parameters.")] = None,
) -> None:
    """How suspicious a neuron is can be measured in these ways."""
    from mutiny.cli.catalogue import explain, show, summary
    from mutiny.verbs.locate.measures import ALL, as_measure

    if code is not None:
        explain([as_measure(code)])
        return
    show(
        ("code", "formula", "defined in"),
        [(kind.code, summary(kind), kind.source) for kind in ALL],
        "ef, ep: failing and passing inputs on which a neuron is active; nf, np: on which it is silent; F, P: all.",
    )
