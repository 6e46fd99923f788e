"""Concatenation of two splits, and hashes that identify inputs by content."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from mutiny.core.errors import BadInput
from mutiny.subjects.data.base import CHUNK, Data
from mutiny.subjects.data.mutated import MutatedData
from mutiny.subjects.data.nested import concatenate, leaves, take

Keys = npt.NDArray[np.uint64]


class Joined(Data):
    """Concatenation of two splits; nothing is copied.

    Args:
        first: First split.
        second: Second split, with inputs of the same structure and targets of the same shape.
        order: Indices of the items in the concatenation, ``(n,)``; all by default.

    >>> from mutiny.subjects.data import as_data
    >>> both = Joined(as_data(([[1.0], [2.0]], [0, 1]), "a"), as_data(([[3.0]], [1]), "b"))
    >>> both.read(np.array([2, 0])).tolist(), both.targets.tolist()
    ([[3.0], [1.0]], [0, 1, 1])
    """

    def __init__(self, first: Data, second: Data, order: npt.NDArray[np.int64] | None = None) -> None:
        shapes = first.targets.shape[1:], second.targets.shape[1:]
        if shapes[0] != shapes[1]:
            raise BadInput(
                "targets",
                f"shapes (n, *{shapes[0]}) and (n, *{shapes[1]})",
                "one shape in splits that are joined",
                "Give both as class numbers.",
            )
        self.parts = first, second
        self.order = np.arange(len(first) + len(second)) if order is None else order
        self.targets = np.concatenate([first.targets, second.targets])[self.order]

    def read(self, indices: slice | np.ndarray) -> Any:
        """Reads items of both splits, in the given order."""
        (first, second), wanted = self.parts, self.order[indices]
        here = wanted < len(first)
        if here.all():
            return first.read(wanted)
        if not here.any():
            return second.read(wanted - len(first))
        parts = [first.read(wanted[here]), second.read(wanted[~here] - len(first))]
        try:
            both = concatenate(parts)
        except (RuntimeError, TypeError, LookupError, ValueError) as error:
            raise BadInput(
                "inputs",
                f"of two kinds ({error})",
                "one structure and shape in splits that are joined",
                "A collate_fn that pads each batch must pad to one length.",
            ) from error
        return take(both, np.argsort(np.argsort(~here, kind="stable"), kind="stable"))

    def select(self, indices: np.ndarray) -> Joined:
        """The same items at other positions."""
        return Joined(*self.parts, self.order[indices])


def contents(data: Data) -> Keys:
    """Hash of each input's content, ``(n, 1)``; for mutated data, a second column holds the hashes of the originals.

    >>> from mutiny.subjects.data import as_data
    >>> keys = contents(as_data(([[1.0], [2.0], [1.0]], [0, 1, 0]), "train"))[:, 0]
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    hashes: list[int] = []
    for batch in data.batches(CHUNK):
        digests: list[Any] = []
        for _, leaf in leaves(batch):
            plain = (leaf.float() if leaf.is_floating_point() else leaf).cpu().contiguous()
            digests = digests or [hashlib.blake2b(digest_size=8) for _ in range(len(plain))]
            for digest, row in zip(digests, plain.reshape(len(plain), -1).view(torch.uint8).numpy(), strict=True):
                digest.update(row.data)
        hashes += [int.from_bytes(digest.digest(), "big") for digest in digests]
    column = np.array(hashes, dtype=np.uint64)[:, None]
    return np.hstack([column, contents(data.clean)]) if isinstance(data, MutatedData) else column
