"""Which failures are to be mended?"""

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
    """All failures, the most frequent confusion, or a pair of classes: the true one and the one that is said.

    >>> check_target("3,5", Classification(10))
    (3, 5)
    """
    if isinstance(target, str) and target == ALL:
        return ALL
    pair = target.split(",") if isinstance(target, str) and "," in target else target
    fix = "all, confusion, or two classes such as 3,5: the true one and the one that is said instead"
    if not isinstance(task, Classification):
        raise BadInput("target", repr(target), "all: regression has no classes")
    if isinstance(target, str) and target == CONFUSION:
        return CONFUSION
    try:
        true, said = (int(one) if isinstance(one, str) else index(one) for one in pair)
    except (TypeError, ValueError):
        raise BadInput("target", repr(target), fix) from None
    if (
        any(isinstance(one, bool) for one in pair)
        or true == said
        or not (0 <= true < task.classes and 0 <= said < task.classes)
    ):
        raise BadInput("target", repr(target), fix)
    return true, said


def targeted(target: Target, failing: Bools, labels: Ints, said: Ints) -> tuple[Bools, dict[str, Any]]:
    """Failures that are to be mended, ``(n,)``, and what they are in words.

    Args:
        target: see `check_target`.
        failing: all failures.
        labels: true classes; of regression, zeros.
        said: what the model says.
    """
    if target == ALL:
        return failing, {"kind": ALL, "failures": int(failing.sum())}
    if target == CONFUSION:
        pairs, counts = np.unique(np.stack([labels[failing], said[failing]], axis=1), axis=0, return_counts=True)
        if not len(pairs):
            return failing, {"kind": CONFUSION, "failures": 0}
        true, wrong = (int(one) for one in pairs[counts.argmax()])
    else:
        assert isinstance(target, tuple)
        true, wrong = target
    which = failing & (labels == true) & (said == wrong)
    return which, {"kind": CONFUSION, "label": true, "said": wrong, "failures": int(which.sum())}
