"""Data from a torch ``Dataset`` or ``DataLoader``."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
)

from mutiny.core.errors import BadInput
from mutiny.subjects.data.arrays import ArrayData, array_data, unlabeled_arrays
from mutiny.subjects.data.base import CHUNK, Data, check_counts, check_finite, inputs_of
from mutiny.subjects.data.items import Collate, DatasetItems, ItemData, collated, shapes, size_in_bytes
from mutiny.subjects.data.nested import filled, leaves, nonfinite_rows, room_for, rows
from mutiny.subjects.data.seeded import seeded

MEMORY_LIMIT_BYTES = 4 * 2**30
"""Largest size of a dataset that is held in memory; larger ones are read again in each pass."""

_WHOLE = (SequentialSampler, RandomSampler, WeightedRandomSampler, DistributedSampler)


def dataset_data(
    dataset: Dataset[Any],
    name: str,
    collate: Collate | None = None,
    indices: np.ndarray | None = None,
    pool: bool = False,
) -> Data:
    """Reads a dataset once and keeps it, so later passes are fast and random transforms are drawn only once.

    Items of equal shapes become tensors in memory. Items of different shapes need ``collate`` and are kept as items.
    Above :data:`MEMORY_LIMIT_BYTES` nothing is kept: items are read again in each pass, each with its own seed, so that
    random transforms still give the same item.

    Args:
        dataset: Dataset whose items are ``(x, y)``, ``(x1, x2, y)`` or dicts with one of the `TARGET_KEYS`;
            an ``IterableDataset`` is read into memory, and so is a dataset without length, up to its ``IndexError``.
        name: Name of the split in error messages.
        collate: Function that makes a batch from a list of items; by default their tensors are stacked.
        indices: Indices of the items, in order; all by default.
        pool: Whether items may lack targets, see `split`.
    """
    if isinstance(dataset, TensorDataset) and collate is None and indices is None:
        *parts, last = dataset.tensors
        if parts:
            return array_data(parts[0] if len(parts) == 1 else tuple(parts), last, name)
        if pool:
            return unlabeled_arrays(last, name)
    items = _items(dataset, indices, name)
    held: Any = None
    kinds: set[Any] = set()
    labels, bad, total = np.empty(0), np.zeros(len(items), dtype=bool), 0
    for at in range(0, len(items), CHUNK):
        chunk = items.read(slice(at, at + CHUNK))
        kinds.update(shapes(item) for item in chunk)
        if collate is None and len(kinds) > 1:
            raise BadInput(
                f"{name} items",
                "different shapes",
                "items that can be stacked",
                "Resize or pad them in the dataset, or give a DataLoader with a collate_fn.",
            )
        inputs, targets = collated(chunk, collate, name, pool)
        wrong_counts = {rows(inputs, inputs_of(name)), len(targets)} - {len(chunk)}
        if wrong_counts:
            raise BadInput(f"{name} collate_fn", f"{min(wrong_counts)} of {len(chunk)} items", "one row per item")
        bad[at : at + CHUNK] = nonfinite_rows(inputs)
        total += size_in_bytes(inputs)
        if at == 0:  # one block for each tensor: joining chunks would take twice the memory
            labels = np.empty((len(items), *targets.shape[1:]), targets.dtype)
            held = room_for(len(items), inputs) if total / len(chunk) * len(items) <= MEMORY_LIMIT_BYTES else None
        if targets.shape[1:] != labels.shape[1:]:
            raise BadInput(f"{name} targets", "different shapes", "targets of one shape")
        labels = labels.astype(np.result_type(labels.dtype, targets.dtype), copy=False)
        labels[at : at + CHUNK] = targets
        if held is not None:
            fits = len(kinds) == 1 and _trailing(inputs) == _trailing(held)
            held = filled(held, at, inputs) if fits else None
    check_finite(bad, name)
    if held is not None:
        return ArrayData(held, labels)
    if total <= MEMORY_LIMIT_BYTES:
        items = DatasetItems(items.read(slice(None)), np.arange(len(items)))
    return ItemData(items, labels, collate, name, pool)


def loader_data(loader: DataLoader[Any], name: str, pool: bool = False) -> Data:
    """The loader's dataset, through its ``collate_fn``, in the dataset's order: no shuffling, no dropped items.

    With a ``SubsetRandomSampler`` it is that subset, in the dataset's order. Workers are not used: it is read once.
    """
    sampler: Any = loader.sampler
    if loader.batch_size is None:
        if type(loader.batch_sampler) is not BatchSampler:
            raise _unreadable(loader.batch_sampler, name)
        sampler = loader.batch_sampler.sampler
    collate = None if loader.collate_fn is default_collate else loader.collate_fn
    if isinstance(loader.dataset, IterableDataset) or isinstance(sampler, _WHOLE):
        return dataset_data(loader.dataset, name, collate, pool=pool)
    if isinstance(sampler, SubsetRandomSampler):
        indices = np.sort(np.asarray(sampler.indices, dtype=np.int64))
        return dataset_data(loader.dataset, name, collate, indices, pool)
    raise _unreadable(sampler, name)


def _unreadable(sampler: object, name: str) -> BadInput:
    return BadInput(
        name,
        f"a DataLoader with {type(sampler).__name__}",
        "a loader over a whole dataset, one item at a time",
        "Its items and their order cannot be known from outside: give the Dataset instead.",
    )


def _items(dataset: Dataset[Any], indices: np.ndarray | None, name: str) -> DatasetItems:
    source: Any = dataset
    if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
        with seeded(0):
            if not hasattr(dataset, "__iter__") and not _ends(dataset):
                raise BadInput(
                    name,
                    f"{type(dataset).__name__} without __len__",
                    "a dataset that knows its length",
                    "Add def __len__(self), or let __getitem__ raise IndexError after the last item.",
                )
            source = list(source)
    chosen = np.arange(len(source)) if indices is None else indices
    check_counts(len(chosen), len(chosen), name)
    return DatasetItems(source, chosen)


def _ends(dataset: Any) -> bool:
    """Whether reading past the last item raises ``IndexError``, found by reading an item far beyond any length."""
    try:
        dataset[2**40]
    except Exception as error:
        return isinstance(error, IndexError)
    return False


def _trailing(inputs: Any) -> list[tuple[str, tuple[int, ...]]]:
    return [(path, tuple(tensor.shape[1:])) for path, tensor in leaves(inputs)]
