"""The forms in which both sides of a comparison may be given: subjects, networks, recorded answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward, default_forward
from mutiny.models.foreign_network import ForeignNetwork, as_network
from mutiny.subjects import Subject
from mutiny.subjects.data.arrays import ArrayData
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.tasks import Classification, Regression, Task
from mutiny.verbs.compare.answer_files import columns_of, is_answers_file
from mutiny.verbs.compare.answers import ComparedAnswers
from mutiny.verbs.compare.other_network import OtherNetwork
from mutiny.verbs.compare.recorded import recorded_answers

FORMS = (
    "a subject, a network (an nn.Module, a torch.jit or torch.export program, an ONNX Runtime session or .onnx file, a "
    "function from inputs to outputs), or recorded answers (a .npz, .csv or .jsonl file, or a mapping of columns)"
)


def recorded_form(value: Any, argument: str, slices: Collection[str]) -> ComparedAnswers | None:
    """Recorded answers, from a file or a mapping of columns; ``None`` for another form.

    Args:
        value: What the user gave.
        argument: ``a`` or ``b``, for messages.
        slices: Columns to slice by.
    """
    if isinstance(value, Mapping):
        return recorded_answers(value, argument, slices)
    if is_answers_file(value):
        return recorded_answers(columns_of(Path(value), argument), argument, slices)
    return None


def given_answers(answers: ComparedAnswers, name: str, **others: Any) -> Given:
    """The common form of recorded answers; ``others`` are arguments that only networks have."""
    for argument, value in others.items():
        if value is not None:
            expected = f"{argument}= only with a network, because recorded answers need none"
            raise BadInput(argument, "given with recorded answers", expected, f"Leave out {argument}=.")
    rows = ArrayData(torch.arange(len(answers)), torch.zeros(len(answers), dtype=torch.int64).numpy())
    return Given(name, rows, "recorded answers", None, Classification(2), default_forward, None, None)


def network_form(
    value: Any, data: Any, task: Task | None, forward: Forward | None, higher_is_better: bool | None
) -> Given:
    """The common form of A, if it is a subject or a network with data."""
    if higher_is_better is not None:
        expected = "no direction, because the task of a network has one"
        raise BadInput("higher_is_better", higher_is_better, expected, "Leave it out.")
    if isinstance(value, Subject):
        return as_given(value, data, None, task, forward, "data", pool=False)
    model = as_network(value, "a")
    if model is None:
        raise _no_form("a", value)
    given = as_given(model, data, None, task, forward, "data", pool=False)
    return Given(name_of(value, "A"), given.data, given.source, None, given.task, given.forward, None, given.model)


def other_form(value: Any, given: Given, data: Any) -> OtherNetwork:
    """B, if it is a subject or a network; it must answer the same inputs, and have the same task.

    Args:
        value: What the user gave.
        given: A, with its inputs.
        data: Inputs that the user gave instead of those of the subjects.
    """
    if isinstance(value, Subject):
        _check_task(value.task, given.task)
        other = as_given(value, data, None, None, None, "data", pool=False)
        if other.data.fingerprint() != given.data.fingerprint():
            wrong = f"{value.name} with {len(other.data):,} other test inputs or targets"
            fix = "Give data=(inputs, targets) that both answer."
            raise BadInput("b", wrong, f"the test set of A ({len(given.data):,} inputs)", fix)
        return OtherNetwork(value.models[0] if value.models else None, value, value.forward)
    model = as_network(value, "b")
    if model is None:
        raise _no_form("b", value)
    return OtherNetwork(model, None, given.forward, getattr(model, "function", None))


def models_of(other: ComparedAnswers | OtherNetwork) -> list[nn.Module]:
    """The model of B, if it is there already."""
    return [other.model] if isinstance(other, OtherNetwork) and other.model is not None else []


def name_of(value: Any, side: str) -> str:
    """Name of a side in reports: that of the subject, file, function or class.

    >>> name_of("runs/new.csv", "B"), name_of(nn.Linear(1, 1), "B"), name_of({"id": []}, "B")
    ('new.csv', 'Linear', 'B')
    """
    if isinstance(value, Subject):
        return value.name
    if isinstance(value, (str, Path)):
        return Path(value).name
    if isinstance(value, Mapping):
        return side
    if isinstance(value, ForeignNetwork):
        value = value.function
    return str(getattr(value, "__name__", type(value).__name__))


def _check_task(mine: Task, wanted: Task) -> None:
    """Raises `BadInput` unless both tasks ask the same question."""
    same = type(mine) is type(wanted)
    if isinstance(mine, Classification) and isinstance(wanted, Classification):
        same = mine.classes == wanted.classes
    if isinstance(mine, Regression) and isinstance(wanted, Regression):
        same = mine.metric == wanted.metric
    if not same:
        raise BadInput(
            "b", f"a subject with the task {mine}", f"{wanted}, as A has", "Only the same task is comparable."
        )


def _no_form(argument: str, value: Any) -> BadInput:
    shown = repr(value)[:60] if isinstance(value, (str, Path, int, float)) or value is None else type(value).__name__
    fix = "Load a subject by its name: mutiny.load_subject(...)." if isinstance(value, str) else ""
    return BadInput(argument, shown, FORMS, fix)
