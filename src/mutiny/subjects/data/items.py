"""Data that is not one tensor: items of different shapes, or more items than fit in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from mutiny.core.errors import BadInput
from mutiny.core.random import seed_for
from mutiny.subjects.data.arrays import targets_from, tensor_from
from mutiny.subjects.data.base import Data, inputs_of
from mutiny.subjects.data.nested import leaves, map_leaves
from mutiny.subjects.data.seeded import reseed, seeded

TARGET_KEYS = ("labels", "label", "target", "targets", "y")
Collate = Callable[[list[Any]], Any]


class DatasetItems:
    """Items of a dataset. Item ``i`` is the same in every pass, even if the dataset transforms it at random.

    Args:
        source: Map-style dataset, or list of items.
        indices: Indices of the items, in order.
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
    """Items that are collated batch by batch, in each pass.

    Args:
        items: Items of a dataset.
        targets: Targets, ``(n,)`` or ``(n, k)``.
        collate: Function that makes a batch ``(inputs, targets)``, or a dict with a target key, from a list of items;
            by default their tensors are stacked.
        name: Name of the split in error messages.
        pool: Whether items may lack targets.
    """

    def __init__(
        self, items: DatasetItems, targets: np.ndarray, collate: Collate | None, name: str, pool: bool = False
    ) -> None:
        self.items = items
        self.targets = targets
        self.collate = collate
        self.name = name
        self.pool = pool

    def read(self, indices: slice | np.ndarray) -> Any:
        """Reads and collates these items."""
        return collated(self.items.read(indices), self.collate, self.name, self.pool)[0]

    def select(self, indices: np.ndarray) -> ItemData:
        """The same items under other positions; nothing is read."""
        items = DatasetItems(self.items.source, self.items.indices[indices])
        return ItemData(items, self.targets[indices], self.collate, self.name, self.pool)


def collated(items: list[Any], collate: Collate | None, name: str, pool: bool = False) -> tuple[Any, np.ndarray]:
    """Inputs (nested tensors) and targets of one batch, by ``collate`` or stacked; NaN if a pool has no targets."""
    if collate is None:
        inputs, targets = stacked(items, name, pool)
    else:
        batch = collate(items)
        inputs, targets = split(batch, name, pool)
        if pool and _unknown(targets):
            targets = np.full(len(items), np.nan)
        elif pool and isinstance(batch, (tuple, list)) and _bare(items[0]):
            raise BadInput(
                f"{name} collate_fn",
                "several parts from items without targets",
                "the inputs, or (inputs, None)",
                "If all parts are inputs of the model, return ((a, b), None).",
            )
    inputs = map_leaves(lambda part: tensor_from(part, inputs_of(name)), inputs)
    return inputs, targets_from(targets, f"{name} targets")


def split(item: Any, name: str, pool: bool = False) -> tuple[Any, Any]:
    """Inputs and target of an item or batch: ``(x, y)``, ``(x1, x2, ..., y)``, or a dict with a target key.

    In a pool the target may be missing: ``x``, ``(x,)``, ``(x, None)``, or a dict without a target key.

    >>> split(("image", 3), "train")
    ('image', 3)
    >>> split({"ids": [1, 2], "labels": 0}, "train")
    ({'ids': [1, 2]}, 0)
    >>> split({"ids": [1, 2]}, "pool", pool=True)
    ({'ids': [1, 2]}, None)
    """
    if isinstance(item, Mapping):
        key = next((key for key in TARGET_KEYS if key in item), None)
        inputs = {other: value for other, value in item.items() if other != key}
        if inputs and (pool or key is not None):
            return inputs, None if key is None else item[key]
        raise BadInput(
            f"{name} item", f"a dict with keys {sorted(map(str, item))}", f"inputs and a key among {TARGET_KEYS}"
        )
    if isinstance(item, (tuple, list)) and len(item) >= 2:
        return (item[0], item[1]) if len(item) == 2 else (tuple(item[:-1]), item[-1])
    if pool:
        return (item[0] if isinstance(item, (tuple, list)) and item else item), None
    raise BadInput(
        f"{name} item",
        type(item).__name__,
        "a pair (inputs, target) or a dict with a target key",
        "Wrap the dataset in one whose items hold the target too.",
    )


def stacked(items: list[Any], name: str, pool: bool = False) -> tuple[Any, np.ndarray]:
    """Inputs and targets of items of equal shapes."""
    inputs, targets = zip(*(split(item, name, pool) for item in items), strict=True)
    tensors = [map_leaves(lambda part: tensor_from(part, inputs_of(name)), each) for each in inputs]
    known = [np.asarray(np.nan if pool and target is None else target) for target in targets]
    return map_leaves(lambda *parts: torch.stack(parts), *tensors), np.stack(known)


def shapes(item: Any) -> tuple[Any, ...]:
    """Structure and array shapes of an item: equal for items that can be stacked."""
    return tuple((path, tuple(np.shape(leaf)) if hasattr(leaf, "shape") else ()) for path, leaf in leaves(item))


def size_in_bytes(inputs: Any) -> int:
    """Memory that the tensors of a batch take."""
    return sum(tensor.numel() * tensor.element_size() for _, tensor in leaves(inputs))


def _unknown(targets: Any) -> bool:
    several = isinstance(targets, (tuple, list))
    return targets is None or (several and all(target is None for target in targets))


def _bare(item: Any) -> bool:
    """Whether an item certainly holds no target: an array, ``(x,)`` or ``(x, None)``."""
    if isinstance(item, (tuple, list)):
        return len(item) < 2 or item[-1] is None
    return isinstance(item, (Tensor, np.ndarray))
