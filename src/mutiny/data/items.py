"""Data that cannot be one tensor: items of different shapes, or more of them than fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from mutiny.data.base import Data
from mutiny.data.convert import targets_from, tensor_from
from mutiny.data.nested import leaves, map_leaves
from mutiny.data.seeded import reseed, seeded
from mutiny.errors import BadInput
from mutiny.random import seed_for

TARGET_KEYS = ("labels", "label", "target", "targets", "y")
Collate = Callable[[list[Any]], Any]


class Items:
    """Items of a dataset. Item ``i`` is the same in every pass, even if the dataset transforms it at random.

    Args:
        source: a map-style dataset, or a list of items that were read before.
        indices: which of its items, in which order.
    """

    def __init__(self, source: Dataset[Any] | Sequence[Any], indices: np.ndarray) -> None:
        self.source = source
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def read(self, positions: slice | np.ndarray) -> list[Any]:
        """Items at these positions. The caller's random state is left as it was."""
        chosen = self.indices[positions].tolist()
        if isinstance(self.source, list):
            return [self.source[index] for index in chosen]
        items = []
        with seeded(0):
            for index in chosen:
                reseed(seed_for(0, "item", index))
                items.append(self.source[index])
        return items


class ItemData(Data):
    """Items that are collated batch by batch, each pass anew.

    Args:
        items: where to read them.
        targets: ``(n,)`` or ``(n, k)``.
        collate: makes a batch ``(inputs, targets)``, or a dict with a target key, from a list of items; by default
            their tensors are stacked.
        name: the split's name in error messages.
    """

    def __init__(self, items: Items, targets: np.ndarray, collate: Collate | None, name: str) -> None:
        self.items = items
        self.targets = targets
        self.collate = collate
        self.name = name

    def read(self, indices: slice | np.ndarray) -> Any:
        """Reads and collates these items."""
        return collated(self.items.read(indices), self.collate, self.name)[0]

    def select(self, indices: np.ndarray) -> ItemData:
        """The same items under other positions; nothing is read."""
        items = Items(self.items.source, self.items.indices[indices])
        return ItemData(items, self.targets[indices], self.collate, self.name)


def collated(items: list[Any], collate: Collate | None, name: str) -> tuple[Any, np.ndarray]:
    """Inputs (nested tensors) and targets of one batch, by ``collate`` or stacked."""
    inputs, targets = stacked(items, name) if collate is None else split(collate(items), name)
    inputs = map_leaves(lambda part: tensor_from(part, f"{name} inputs"), inputs)
    return inputs, targets_from(targets, f"{name} targets")


def split(item: Any, name: str) -> tuple[Any, Any]:
    """Inputs and target of an item or batch: ``(x, y)``, ``(x1, x2, ..., y)``, or a dict with a target key.

    >>> split(("image", 3), "train")
    ('image', 3)
    >>> split({"ids": [1, 2], "labels": 0}, "train")
    ({'ids': [1, 2]}, 0)
    """
    if isinstance(item, Mapping):
        for key in TARGET_KEYS:
            if key in item and len(item) > 1:
                return {other: value for other, value in item.items() if other != key}, item[key]
        raise BadInput(f"{name} item", f"a dict with keys {sorted(map(str, item))}", f"a key among {TARGET_KEYS}")
    if isinstance(item, (tuple, list)) and len(item) >= 2:
        return (item[0], item[1]) if len(item) == 2 else (tuple(item[:-1]), item[-1])
    raise BadInput(
        f"{name} item", type(item).__name__, "a pair (inputs, target) or a dict with a target key",
        "Wrap the dataset in one whose items hold the target too.",
    )  # fmt: skip


def stacked(items: list[Any], name: str) -> tuple[Any, np.ndarray]:
    """Inputs and targets of items of equal shapes."""
    inputs, targets = zip(*(split(item, name) for item in items), strict=True)
    tensors = [map_leaves(lambda part: tensor_from(part, f"{name} inputs"), each) for each in inputs]
    return _stack(tensors), np.stack([np.asarray(target) for target in targets])


def shapes(item: Any) -> tuple[Any, ...]:
    """Structure and array shapes of an item: equal for items that can be stacked."""
    return tuple((path, tuple(np.shape(leaf)) if hasattr(leaf, "shape") else ()) for path, leaf in leaves(item))


def size_in_bytes(inputs: Any) -> int:
    """Memory that the tensors of a batch take."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in leaves(inputs))


def _stack(parts: Sequence[Any]) -> Any:
    first = parts[0]
    if isinstance(first, Mapping):
        return {key: _stack([part[key] for part in parts]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(_stack(column) for column in zip(*parts, strict=True)))
    if isinstance(first, (tuple, list)):
        return type(first)(_stack(column) for column in zip(*parts, strict=True))
    return torch.stack(list(parts))
