"""A data split: inputs in a fixed order, read in batches of any size, and their targets."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, final

import numpy as np
import torch

from mutiny.core.errors import BadInput
from mutiny.subjects.data.nested import leaves, nonfinite_rows, to_device

CHUNK = 256
"""Items per step where a whole split is read: large enough to be fast, small enough to bound memory."""


class Data(ABC):
    """Inputs and targets in a fixed order. A new kind of data implements `read` and `select`.

    Attributes:
        targets: All targets, ``(n,)`` or ``(n, k)``; NaN if unknown.
        names: Names of the items, such as the files of a folder; ``None`` without names.
        classes: Names of the classes, such as the folders of images, in the order of their numbers; ``None`` without
            names.
    """

    targets: np.ndarray
    names: tuple[str, ...] | None = None
    classes: tuple[str, ...] | None = None
    _fingerprint: str | None = None
    _digests: tuple[bytes, ...] | None = None

    @abstractmethod
    def read(self, indices: slice | np.ndarray) -> Any:
        """Inputs of the items at ``indices``, in that order: a tensor, or tuples, lists and dicts of tensors."""

    @abstractmethod
    def select(self, indices: np.ndarray) -> Data:
        """The items at ``indices`` (valid, int64) in that order."""

    @final
    def __len__(self) -> int:
        return len(self.targets)

    @property
    def labeled(self) -> bool:
        """Whether targets are known; if not, all are NaN."""
        return not (self.targets.dtype.kind == "f" and bool(np.isnan(self.targets).all()))

    @final
    def batches(self, size: int, device: torch.device | str = "cpu") -> Iterator[Any]:
        """Inputs in order, ``size`` at a time (the last batch may be smaller), moved to ``device``."""
        if size < 1:
            raise BadInput("batch size", size, "a whole number of at least 1")
        return (to_device(self.read(slice(at, min(at + size, len(self)))), device) for at in range(0, len(self), size))

    @final
    def subset(self, indices: np.ndarray) -> Data:
        """The items at ``indices`` (whole numbers, or one boolean per item) in the order of ``indices``."""
        indices = np.asarray(indices)
        if indices.dtype == bool and indices.shape == (len(self),):
            indices = np.flatnonzero(indices)
        if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
            raise BadInput("indices", f"{indices.dtype} of shape {indices.shape}", "a list of whole numbers")
        indices = indices.astype(np.int64)
        outside = (indices < 0) | (indices >= len(self))
        if outside.any():
            raise BadInput("indices", int(indices[outside][0]), f"numbers between 0 and {len(self) - 1}")
        chosen = self.select(indices)
        chosen.classes = self.classes
        if self._digests is not None:
            chosen._digests = tuple(self._digests[index] for index in indices.tolist())
        if self.names is not None:
            chosen.names = tuple(self.names[index] for index in indices.tolist())
        return chosen

    @final
    def first(self, n: int) -> Any:
        """Inputs of the first ``n`` items, or of all if there are fewer."""
        return self.read(slice(0, min(n, len(self))))

    @final
    def fingerprint(self) -> str:
        """SHA-256 over structure, shapes, types and values of inputs and targets, in order; computed once."""
        if self._fingerprint is None:
            digest = hashlib.sha256(f"targets {self.targets.dtype.str} {self.targets.shape}".encode())
            digest.update(np.ascontiguousarray(self.targets).data)
            for batch in self.batches(CHUNK):
                for path, tensor in leaves(batch):
                    digest.update(f"{path} {tensor.dtype} {tuple(tensor.shape)}".encode())
                    digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    @final
    def digests(self) -> tuple[bytes, ...]:
        """A hash of the input of each item, without its target; computed once.

        Inputs of different structure, type or shape have different hashes.
        """
        if self._digests is None:
            self._digests = tuple(digest for batch in self.batches(CHUNK) for digest in _row_digests(batch))
        return self._digests


def _row_digests(batch: Any) -> Iterator[bytes]:
    """A hash of each row of a batch."""
    start, parts = hashlib.blake2b(digest_size=16), []
    for path, tensor in leaves(batch):
        start.update(f"{path} {tensor.dtype} {tuple(tensor.shape[1:])};".encode())
        parts.append(tensor.contiguous().reshape(-1).view(torch.uint8).reshape(len(tensor), -1).numpy())
    for row in zip(*parts, strict=True):
        digest = start.copy()
        for part in row:
            digest.update(part.data)
        yield digest.digest()


def inputs_of(name: str) -> str:
    """Name of the inputs of a split in error messages.

    >>> inputs_of("train"), inputs_of("inputs")
    ('train inputs', 'inputs')
    """
    return name if name == "inputs" else f"{name} inputs"


def check_finite(bad: np.ndarray, name: str) -> None:
    """Raises `BadInput` if any input is marked as not finite, see `nonfinite_rows`."""
    if bad.any():
        raise BadInput(
            inputs_of(name),
            f"NaN or infinite numbers in {int(bad.sum())} of {len(bad)} items, first at index "
            f"{int(np.flatnonzero(bad)[0])}",
            "finite numbers",
            "Remove or impute these items.",
        )


def check_counts(inputs: int, targets: int, name: str) -> None:
    """Raises `BadInput` if the split is empty or does not have one target per input."""
    if inputs != targets:
        raise BadInput(name, f"{inputs} inputs and {targets} targets", "one target per input")
    if inputs == 0:
        raise BadInput(name, "an empty split", "at least one item", "Check how the split was made or filtered.")


def nonfinite_items(data: Data) -> np.ndarray:
    """Whether any number of an item is NaN or infinite, for a whole split: ``(n,)`` bool."""
    return np.concatenate([nonfinite_rows(batch) for batch in data.batches(CHUNK)])
