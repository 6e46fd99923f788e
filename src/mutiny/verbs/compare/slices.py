"""Properties of the inputs by which the change is broken down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mutiny.core.errors import BadInput
from mutiny.verbs.compare.answers import ComparedAnswers, Texts
from mutiny.verbs.compare.groups import CLASS
from mutiny.verbs.compare.recorded import column_texts

Slices = str | Sequence[str] | Mapping[str, Any] | None


def slice_names(slices: Any) -> tuple[str, ...]:
    """Names of the columns to slice by.

    >>> slice_names("camera"), slice_names({"hour": [1, 2]})
    (('camera',), ('hour',))
    """
    names = () if slices is None else (slices,) if isinstance(slices, str) else slices
    if not isinstance(names, (tuple, list, Mapping)) or not all(isinstance(name, str) for name in names):
        raise BadInput("slices", repr(slices)[:60], "names of columns, or a mapping from names to values")
    if CLASS in names:
        raise BadInput("slices", CLASS, "another name", "Classes are shown in any case.")
    return tuple(names)


def sliced(slices: Slices, a: ComparedAnswers | None, b: Any, inputs: int) -> Mapping[str, Texts]:
    """The values of a mapping, in the order of A's inputs; empty if columns of recorded answers are named.

    Args:
        slices: What the user gave.
        a: Recorded answers of A, if any.
        b: Recorded answers of B, or a network.
        inputs: Number of inputs.
    """
    if isinstance(slices, Mapping):
        columns = {name: column_texts(values, name, "slices") for name, values in slices.items()}
        for name, values in columns.items():
            if len(values) != inputs:
                raise BadInput("slices", f"{len(values):,} values of {name}", f"{inputs:,}, one for each input")
        return columns
    for name in slice_names(slices):
        recorded = [side for side in (a, b) if isinstance(side, ComparedAnswers)]
        if not any(name in side.columns for side in recorded):
            others = sorted({other for side in recorded for other in side.others})
            fix = f"There are: {', '.join(others)[:200]}." if others else "There are no further columns."
            raise BadInput("slices", repr(name), "a column of the recorded answers", fix)
    return {}
