"""From whatever the user has to :class:`~mutiny.data.base.Data`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader, Dataset

from mutiny.data.arrays import array_data
from mutiny.data.base import Data, check_counts
from mutiny.data.datasets import dataset_data, loader_data
from mutiny.data.folder import image_folder
from mutiny.data.idx import holds_idx, idx_data
from mutiny.data.npz import npz_data
from mutiny.data.tree import archive_in
from mutiny.errors import BadInput


def as_data(source: Any, name: str) -> Data:
    """The split ``name`` from arrays, a dataset, a loader or a path.

    Args:
        source: ``(x, y)`` arrays; a torch ``Dataset`` or ``DataLoader``; a :class:`Data`; or the path of an ``.npz``
            file, an IDX images file (or its folder), a folder of class folders of images, or such a folder in a
            ``.zip`` file.
        name: the split's name, e.g. ``train``; error messages begin with it.

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
    if isinstance(source, Dataset) or _like_dataset(source):
        return dataset_data(source, name)
    raise BadInput(
        name, type(source).__name__, "a pair (x, y) of arrays, a torch Dataset or DataLoader, or a path",
        "Inputs and targets belong together: give (x, y).",
    )  # fmt: skip


def _from_path(path: Path, name: str) -> Data:
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
    """Whether this can be read by position, as datasets of other libraries can; arrays and containers do not count."""
    readable = hasattr(source, "__getitem__") and hasattr(source, "__len__")
    array = hasattr(source, "dtype") or hasattr(source, "to_numpy")
    return readable and not array and not isinstance(source, (dict, tuple, list, bytes))
