"""``mutiny operators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mutiny.cli import completion
from mutiny.cli.loading_message import loading
from mutiny.core.errors import called

if TYPE_CHECKING:
    from mutiny.faults import Operator
    from mutiny.faults.training.base import TrainingOperator


@called("CODE", "operators")
def operators(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="CODE", help="Operator to explain, with its parameters.", autocompletion=completion.operators
        ),
    ] = None,
) -> None:
    """List operators: the faults that can be injected."""
    with loading():
        from mutiny.cli.listing import explain, show, show_refused
        from mutiny.faults import OPERATORS
        from mutiny.faults.parsing import as_faults
        from mutiny.faults.training import TRAINING_OPERATORS

    if code is not None:
        explain(as_faults(code))
        return
    rows = [(kind.code, kind.title, kind.family, _bounds(kind), _source(kind)) for kind in OPERATORS.values()]
    rows += [(kind.code, kind.title, kind.level, kind.tries, _source(kind)) for kind in TRAINING_OPERATORS.values()]
    show(
        ("code", "fault", "level", "tried", "defined in"),
        rows,
        "Operators of the levels data, settings and network act before training and need a recipe; all others act on "
        "trained models.\n"
        "Parameters go in brackets: NI(ratio=0.1, direction=incoming). `mutiny operators NI` explains them.",
    )
    show_refused(OPERATORS)  # and those of TRAINING_OPERATORS, which shares its entry points


def _bounds(kind: type[Operator]) -> str:
    strength = next(iter(kind.tunable), None)
    return f"{strength} {kind.tunable[strength][0]:g} to {kind.tunable[strength][1]:g}" if strength else "-"


def _source(kind: type[Operator | TrainingOperator]) -> str:
    return kind.source.partition(";")[0]
