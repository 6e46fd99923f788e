"""Conversion of arrays, datasets, loaders and paths to `Data`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.subjects.data.arrays import array_data, unlabeled_arrays
from mutiny.subjects.data.base import Data, check_counts
from mutiny.subjects.data.datasets import dataset_data, loader_data
from mutiny.subjects.data.folder import image_folder, loose_images
from mutiny.subjects.data.idx import holds_idx, idx_data
from mutiny.subjects.data.npz import npz_arrays, npz_data
from mutiny.subjects.data.tree import archive_in, open_tree


@torch.inference_mode(False)  # verbs may need gradients, even if the caller is in inference mode
def as_data(source: Any, name: str) -> Data:
    """The split ``name`` from arrays, a dataset, a loader or a path.

    Args:
        source: ``(x, y)`` arrays; a torch ``Dataset`` or ``DataLoader``; a :class:`Data`; or the path of an ``.npz``
            file, an IDX images file (or its folder), a folder of class folders of images, or such a folder in a
            ``.zip`` file.
        name: Name of the split in error messages, e.g. ``train``.

    >>> len(as_data(([[0.0], [1.0], [2.0]], [0, 1, 1]), "train"))
    3
    """
    if isinstance(source, Data):
        check_counts(len(source), len(source), name)
        return source
    if isinstance(source, (str, Path)):
        return _from_path(Path(source).expanduser(), name)
    if isinstance(source, (tuple, list)) and len(source) == 2:
        return array_data(source[0], source[1], name)
    if isinstance(source, DataLoader):
        return loader_data(source, name)
    if _like_dataset(source):
        return dataset_data(source, name)
    raise BadInput(
        name,
        type(source).__name__,
        "a pair (x, y) of arrays, a torch Dataset or DataLoader, or a path",
        "Inputs and targets belong together: give (x, y).",
    )


@torch.inference_mode(False)
def as_pool(source: Any, name: str = "pool") -> Data:
    """Inputs to choose from, whose targets may be unknown: all that `as_data` reads, and inputs alone.

    Args:
        source: Source as for `as_data`; or inputs without targets: an array, a dict of arrays, ``(inputs, None)``, for
            several inputs ``((a, b), None)``; a ``Dataset`` or ``DataLoader`` with items ``x``, ``(x,)``,
            ``(x, None)`` or dicts without a target key; a file of arrays (``.npy``, or ``.npz`` without targets); or a
            folder with images directly in it. A pair ``(a, b)`` is always inputs and targets. A ``collate_fn`` over
            items without targets returns the inputs or ``(inputs, None)``.
        name: Name of the pool in error messages.

    >>> as_pool(np.zeros((3, 2))).labeled, as_pool((np.zeros((3, 2)), [0, 1, 0])).labeled
    (False, True)
    """
    if isinstance(source, (str, Path)):
        return _pool_from_path(Path(source).expanduser(), name)
    if isinstance(source, (Tensor, np.ndarray, Mapping)):
        return unlabeled_arrays(source, name)
    if isinstance(source, DataLoader):
        return loader_data(source, name, pool=True)
    if _like_dataset(source):
        return dataset_data(source, name, pool=True)
    pair = isinstance(source, (tuple, list)) and len(source) == 2
    if pair and source[1] is None:
        return unlabeled_arrays(source[0], name)
    numbers = pair and all(map(np.isscalar, source))
    if isinstance(source, Data) or (pair and not numbers and getattr(source[1], "ndim", 1) <= 2):
        return as_data(source, name)
    value = f"targets of {source[1].ndim} dimensions" if pair and not numbers else type(source).__name__
    raise BadInput(
        name,
        repr(source)[:60] if numbers else value,
        "inputs, a pair (inputs, targets), a torch Dataset or DataLoader, or a path",
        "If all are inputs of the model, give ((a, b), None).",
    )


def _pool_from_path(path: Path, name: str) -> Data:
    check_path(name, path)
    if path.is_file() and path.suffix in (".npy", ".npz"):
        inputs, targets = npz_arrays(path, name)
        return unlabeled_arrays(inputs, name) if targets is None else array_data(inputs, targets, name)
    folder = archive_in(path) is not None or (path.is_dir() and not holds_idx(path))
    tree = open_tree(path, name) if folder else None
    if tree is None or not loose_images(tree):
        return _from_path(path, name)
    both = next((inner for inner in tree.folders() if loose_images(tree, inner)), None)
    if both is not None:
        raise BadInput(
            name,
            f"{tree} with images in it and in {both}",
            "images in one folder, or in class folders only",
            "Move one kind elsewhere: images with and without a class cannot be mixed.",
        )
    return image_folder(path, classes=[], name=name)


def _from_path(path: Path, name: str) -> Data:
    check_path(name, path)
    if archive_in(path) is not None:
        return image_folder(path, name=name)
    if not path.exists():
        raise BadInput(name, path, "an existing file or folder", "Check the path.")
    if path.is_dir():
        return idx_data(path, name) if holds_idx(path) else image_folder(path, name=name)
    if path.suffix == ".npz":
        return npz_data(path, name)
    if "idx" in path.name:
        return idx_data(path, name)
    raise BadInput(name, path, "an .npz file, an IDX images file, a folder of images or a .zip file of one")


def _like_dataset(source: Any) -> bool:
    """Whether this is a torch dataset, or an object of another library that is read by position like one."""
    readable = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    array = hasattr(source, "dtype") or hasattr(source, "to_numpy")
    container = isinstance(source, (Mapping, tuple, list, bytes))
    return isinstance(source, Dataset) or (readable and not array and not container)
