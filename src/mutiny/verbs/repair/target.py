"""Failures that a repair should fix: all, the most frequent confusion, or one confusion of two classes."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.subjects.tasks import Classification, Task

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
ALL, CONFUSION = "all", "confusion"
Target = str | tuple[int, int]


def check_target(target: Any, task: Task) -> Target:
    """A target in its usual form: ``"all"``, ``"confusion"``, or the true class and the predicted one.

    >>> check_target("3,5", Classification(10))
    (3, 5)
    """
    if isinstance(target, str) and target == ALL:
        return ALL
    pair = target.split(",") if isinstance(target, str) and "," in target else target
    expected = "all, confusion, or two classes such as (3, 5): the true one and the predicted one"
    if not isinstance(task, Classification):
        raise BadInput("target", repr(target), "all, because regression has no classes")
    if isinstance(target, str) and target == CONFUSION:
        return CONFUSION
    try:
        true, predicted = (int(label) if isinstance(label, str) else index(label) for label in pair)
    except (TypeError, ValueError):
        raise BadInput("target", repr(target), expected) from None
    if any(isinstance(label, bool) for label in pair):
        raise BadInput("target", repr(target), expected)
    if not all(0 <= label < task.classes for label in (true, predicted)):
        raise BadInput("target", repr(target), f"classes between 0 and {task.classes - 1}")
    if true == predicted:
        raise BadInput("target", repr(target), "two different classes: the true one and the predicted one")
    return true, predicted


def targeted(target: Target, failing: Bools, labels: Ints, predicted: Ints) -> tuple[Bools, dict[str, Any]]:
    """Failures to fix, ``(n,)``, and a description of the target as plain values.

    Args:
        target: Target from `check_target`.
        failing: All failures, ``(n,)``.
        labels: True classes, ``(n,)``; 0 for regression.
        predicted: Predicted classes, ``(n,)``.
    """
    if target == ALL:
        return failing, {"kind": ALL, "failures": int(failing.sum())}
    if target == CONFUSION:
        pairs, counts = np.unique(np.stack([labels[failing], predicted[failing]], axis=1), axis=0, return_counts=True)
        if not len(pairs):
            return failing, {"kind": CONFUSION, "failures": 0}
        true, wrong = (int(label) for label in pairs[counts.argmax()])
    else:
        assert isinstance(target, tuple)
        true, wrong = target
    confused = failing & (labels == true) & (predicted == wrong)
    return confused, {"kind": CONFUSION, "label": true, "said": wrong, "failures": int(confused.sum())}
