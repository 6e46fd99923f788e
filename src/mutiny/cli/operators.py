"""``mutiny operators``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from mutiny.faults import Operator
    from mutiny.faults.training.base import TrainingOperator


def operators(
    code: Annotated[str | None, typer.Argument(help="Explain this one with all its parameters.")] = None,
) -> None:
    """Which faults can be injected, and where each was defined."""
    from mutiny.cli.catalogue import explain, show
    from mutiny.faults import ALL
    from mutiny.faults.parsing import as_faults
    from mutiny.faults.training import catalogue

    if code is not None:
        explain(as_faults(code))
        return
    rows = [(kind.code, kind.title, kind.__module__.split(".")[-2], _bounds(kind), _place(kind)) for kind in ALL]
    rows += [(kind.code, kind.title, kind.level, kind.tries, _place(kind)) for kind in catalogue.ALL]
    show(
        ("code", "fault", "level", "tried", "defined in"), rows,
        "Data, settings and network are changed before training, which needs a recipe; the others in trained models.\n"
        "Parameters go in brackets: NI(ratio=0.1, direction=incoming). `mutiny operators NI` explains them.",
    )  # fmt: skip


def _bounds(kind: type[Operator]) -> str:
    strength = next(iter(kind.tunable), None)
    return f"{strength} {kind.tunable[strength][0]:g} to {kind.tunable[strength][1]:g}" if strength else "-"


def _place(kind: type[Operator | TrainingOperator]) -> str:
    return kind.source.partition(";")[0]
