"""Answers that were recorded elsewhere: columns of a table with one row for each input."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from mutiny.core.errors import BadInput
from mutiny.verbs.compare.answers import ComparedAnswers, Texts

COLUMNS = ("id", "correct", "score", "answer", "target")
"""Columns with a meaning; others can be used as slices."""
FORM = "a column id, and either correct, or score, or answer and target"
WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
Columns = Mapping[str, Any]


def recorded_answers(columns: Columns, argument: str, slices: Iterable[str] = ()) -> ComparedAnswers:
    """Answers from columns, with every value checked.

    Args:
        columns: Values by the name of their column, equally many in each.
        argument: Name of the argument, for messages.
        slices: Further columns to keep.

    >>> recorded_answers({"id": ["x", "y"], "answer": [3, 5], "target": [3, 4]}, "a").correct
    array([ True, False])
    """
    columns = {str(name): _listed(values, name, argument) for name, values in columns.items()}
    kind = _kind(columns, argument)
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        sizes = ", ".join(f"{name} {len(values):,}" for name, values in columns.items())
        raise BadInput(argument, f"columns of different lengths: {sizes}", "one value for each input in every column")
    if lengths == {0}:
        raise BadInput(argument, "a table without rows", "at least one row")
    ids = _texts(columns["id"], "id", argument)
    _check_unique(ids, argument)
    kept = {name: _texts(columns[name], name, argument, empty=True) for name in slices if name in columns}
    more: dict[str, Any] = {"columns": kept, "others": tuple(name for name in columns if name not in COLUMNS)}
    if kind == "score":
        return ComparedAnswers(ids, scores=_scores(columns["score"], ids, argument), **more)
    if kind == "correct":
        return ComparedAnswers(ids, _flags(columns["correct"], argument), **more)
    said, targets = (_texts(columns[name], name, argument) for name in ("answer", "target"))
    correct = np.array([answer == target for answer, target in zip(said, targets, strict=True)])
    return ComparedAnswers(ids, correct, said=said, targets=targets, **more)


def column_texts(values: Any, name: str, argument: str) -> Texts:
    """A column as text, in which values may be missing.

    >>> column_texts([3, None, "x"], "camera", "slices")
    ('3', '(none)', 'x')
    """
    return _texts(_listed(values, name, argument), name, argument, empty=True)


def _kind(columns: Columns, argument: str) -> str:
    """Which columns tell how good an answer is."""
    has = ", ".join(map(str, columns)) or "none"
    if "id" not in columns:
        raise BadInput(argument, f"columns {has[:200]}", FORM, "The column id is missing.")
    forms = {"correct": ["correct"], "score": ["score"], "answer": ["answer", "target"]}
    known = [kind for kind, names in forms.items() if all(name in columns for name in names)]
    if not known:
        half = next((name for name in ("answer", "target") if name in columns), None)
        missing = {"answer": "target", "target": "answer"}.get(half or "", "")
        fix = f"The column {missing} is missing." if missing else "None of them is there."
        raise BadInput(argument, f"columns {has[:200]}", FORM, fix)
    if len(known) > 1:
        fix = "Leave out what should not be compared."
        raise BadInput(argument, f"columns {has[:200]}", f"{FORM}, not several of these", fix)
    return known[0]


def _listed(values: Any, name: str, argument: str) -> list[Any]:
    """The values of a column as Python values."""
    if isinstance(values, torch.Tensor):
        values = values.detach().cpu().numpy()
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind not in "biufUSO":
            raise BadInput(
                argument, f"column {name} of {values.dtype}, shape {values.shape}", "one value for each input"
            )
        values = values.tolist()
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise BadInput(argument, f"column {name}: {type(values).__name__}", "one value for each input")
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]


def _texts(values: Sequence[Any], name: str, argument: str, empty: bool = False) -> Texts:
    """Values as text; whole numbers are the same in every format."""
    return tuple(_text(value, row, name, argument, empty) for row, value in enumerate(values, 1))


def _text(value: Any, row: int, name: str, argument: str, empty: bool) -> str:
    missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
    if missing and empty:
        return "(none)"
    if missing or isinstance(value, (list, dict, tuple)):
        shown = "no value" if missing else f"a {type(value).__name__}"
        raise BadInput(argument, f"{shown} in column {name} of row {row}", "text or a number")
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _check_unique(ids: Texts, argument: str) -> None:
    first: dict[str, int] = {}
    for row, identifier in enumerate(ids, 1):
        if first.setdefault(identifier, row) != row:
            rows = f"rows {first[identifier]} and {row}"
            raise BadInput(argument, f"the id {identifier!r} twice, in {rows}", "a different id in every row")


def _flags(values: Sequence[Any], argument: str) -> np.ndarray:
    flags = [WORDS.get(str(int(value) if value in (0, 1) else value).strip().casefold()) for value in values]
    if None in flags:
        row = flags.index(None)
        wrong = f"{str(values[row])[:40]!r} in column correct of row {row + 1}"
        raise BadInput(argument, wrong, "1 or 0, or true or false")
    return np.array(flags, bool)


def _scores(values: Sequence[Any], ids: Texts, argument: str) -> np.ndarray:
    scores = np.array([_number(value) for value in values])
    bad = ~np.isfinite(scores)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        wrong = f"{str(values[row])[:40]!r} in column score of row {row + 1} (id {ids[row]})"
        fix = f"{int(bad.sum())} of {len(scores)} scores are not finite." if bad.sum() > 1 else ""
        raise BadInput(argument, wrong, "finite numbers", fix)
    return scores


def _number(value: Any) -> float:
    try:
        return math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
