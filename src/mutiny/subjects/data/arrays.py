"""Data held in memory as tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.subjects.data.base import Data, check_counts, check_finite, finite_chunks
from mutiny.subjects.data.convert import targets_from, tensor_from
from mutiny.subjects.data.nested import map_leaves, rows, take


class ArrayData(Data):
    """Inputs in memory; batches are views, subsets are copies.

    Args:
        inputs: a tensor, or tuples, lists and dicts of tensors, all with ``n`` rows.
        targets: ``(n,)`` or ``(n, k)``.

    >>> import torch
    >>> data = ArrayData(torch.arange(5), np.array([0, 1, 0, 1, 0]))
    >>> [batch.tolist() for batch in data.batches(2)]
    [[0, 1], [2, 3], [4]]
    >>> data.subset([4, 0]).first(2)
    tensor([4, 0])
    """

    def __init__(self, inputs: Any, targets: np.ndarray) -> None:
        self.inputs = inputs
        self.targets = targets

    def read(self, indices: slice | np.ndarray) -> Any:
        """Rows of every tensor: views for a slice, copies for an array."""
        return take(self.inputs, indices)

    def select(self, indices: np.ndarray) -> ArrayData:
        """A copy of the chosen rows."""
        return ArrayData(take(self.inputs, indices), self.targets[indices])


def array_data(inputs: Any, targets: Any, name: str) -> ArrayData:
    """Checked data from arrays. The memory is shared where types allow it: do not change the arrays afterwards.

    Args:
        inputs: numpy array, torch tensor or (nested) list of numbers with one row per item; or, for models with
            several inputs, a tuple, list or dict of such arrays. For types see
            :func:`mutiny.subjects.data.convert.tensor_from`.
        targets: ``(n,)`` or ``(n, k)`` numbers.
        name: the split's name in error messages.

    >>> array_data([[1.0], [2.0]], [0, 1], "train").inputs
    tensor([[1.],
            [2.]])
    """
    tensors, labels = _tensors(inputs, name), targets_from(targets, f"{name} targets")
    if _holds_arrays(inputs) and len(inputs) == len(labels) and any(len(part) != len(labels) for part in inputs):
        raise BadInput(
            f"{name} inputs",
            f"a list of {len(inputs)} arrays",
            "one array with one row per item, or one array per model input",
            "Stack the items with np.stack or torch.stack.",
        )
    return _checked(tensors, labels, name)


def unlabeled_arrays(inputs: Any, name: str) -> ArrayData:
    """Checked data from inputs, as for `array_data`, whose targets are unknown.

    >>> unlabeled_arrays((np.zeros((2, 3)), np.ones(2)), "pool").targets
    array([nan, nan])
    """
    tensors = _tensors(inputs, name)
    return _checked(tensors, np.full(rows(tensors, f"{name} inputs"), np.nan), name)


def _tensors(inputs: Any, name: str) -> Any:
    if isinstance(inputs, Mapping) or _holds_arrays(inputs):
        return map_leaves(lambda part: tensor_from(part, f"{name} inputs"), inputs)
    return tensor_from(inputs, f"{name} inputs")


def _checked(tensors: Any, labels: np.ndarray, name: str) -> ArrayData:
    check_counts(rows(tensors, f"{name} inputs"), len(labels), name)
    data = ArrayData(tensors, labels)
    check_finite(finite_chunks(data), name)
    return data


def _holds_arrays(value: Any) -> bool:
    """Whether this is a tuple or list of arrays (several model inputs), not of numbers (one array)."""
    if not isinstance(value, (tuple, list)) or not value:
        return False
    return all(isinstance(part, (np.ndarray, Tensor, Mapping)) or _holds_arrays(part) for part in value)
