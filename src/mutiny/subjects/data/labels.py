"""Unknown labels of a pool, and class numbers of image folders."""

from __future__ import annotations

from copy import copy

import numpy as np
import numpy.typing as npt

from mutiny.subjects.data.base import Data
from mutiny.subjects.tasks import Classification, Task


def unknown(targets: npt.NDArray[np.generic], task: Task) -> int:
    """Number of unknown labels: NaN, or -1 for a class.

    >>> unknown(np.array([3, -1, 0, -1]), Classification(4)), unknown(np.array([0.5, np.nan]), Classification(4))
    (2, 1)
    """
    rows = targets.reshape(len(targets), -1)
    missing = np.isnan(rows).any(axis=1) if rows.dtype.kind == "f" else np.zeros(len(rows), dtype=bool)
    if isinstance(task, Classification) and rows.shape[1] == 1 and rows.dtype.kind in "if":
        missing |= (rows == -1)[:, 0]
    return int(missing.sum())


def matched(pool: Data, train: Data | None, task: Task) -> Data:
    """The pool with the class numbers of the training data; a pool of image folders may lack some classes.

    Folders are matched by name with those of the training data. If these have no names, a folder named by a number has
    that class, and if there are as many folders as classes, they are numbered in the order of their names. Otherwise
    labels are unknown.
    """
    if pool.classes is None or not isinstance(task, Classification):
        return pool
    numbers = class_numbers(pool.classes, None if train is None else train.classes, task.classes)
    if numbers == [*range(len(pool.classes))]:
        return pool
    relabeled = copy(pool)
    labels = pool.targets.astype(np.int64)
    relabeled.targets = np.full(len(pool), np.nan) if numbers is None else np.array(numbers)[labels]
    return relabeled


def class_numbers(folders: tuple[str, ...], known: tuple[str, ...] | None, classes: int) -> list[int] | None:
    """The class of each folder; ``None`` if it cannot be determined.

    >>> class_numbers(("3", "5"), None, 10), class_numbers(("cat", "dog"), ("bird", "cat", "dog"), 3)
    ([3, 5], [1, 2])
    >>> class_numbers(("cat", "dog"), None, 10)
    """
    if known is not None:
        return [known.index(name) for name in folders] if set(folders) <= set(known) else None
    if all(name.isdecimal() and int(name) < classes for name in folders):
        return [int(name) for name in folders]
    return [*range(classes)] if len(folders) == classes else None
