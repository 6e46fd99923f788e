"""Data from numpy's ``.npz`` and ``.npy`` files, without unpickling anything."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.claims import own_warnings
from mutiny.core.errors import BadInput, UntrustedFile
from mutiny.core.limits import Allowance
from mutiny.subjects.data.archives import check_entries
from mutiny.subjects.data.arrays import ArrayData, array_data

INPUT_KEYS = ("x", "inputs")
TARGET_KEYS = ("y", "targets", "labels")


def npz_data(path: Path, name: str) -> ArrayData:
    """Inputs and targets of a file, see `npz_arrays`."""
    inputs, targets = npz_arrays(path, name)
    if targets is None:
        raise _unsuitable(name, f"{path} without targets")
    return array_data(inputs, targets, name)


def npz_arrays(path: Path, name: str) -> tuple[Any, np.ndarray | None]:
    """Arrays ``x`` (or ``inputs``) and, if it is there, ``y`` (or ``targets``, ``labels``) of a file.

    For models with several inputs, keys ``x_NAME`` give a dict of inputs with the names after ``x_``. A ``.npy`` file
    holds inputs only.
    """
    arrays = read_arrays(path, name)
    if isinstance(arrays, np.ndarray):
        return arrays, None
    target = next((key for key in TARGET_KEYS if key in arrays), None)
    inputs: Any = next((arrays[key] for key in INPUT_KEYS if key in arrays), None)
    if inputs is None:
        inputs = {key[2:]: array for key, array in arrays.items() if key.startswith("x_")} or None
    if inputs is None:
        raise _unsuitable(name, f"{path} with arrays {sorted(arrays)}")
    return inputs, None if target is None else arrays[target]


def read_arrays(path: Path, name: str) -> np.ndarray | dict[str, np.ndarray]:
    """The array of an ``.npy`` file, or the arrays of an ``.npz`` file by name.

    Arrays of objects need pickle, which can run code, and are refused.
    """
    try:
        return _arrays(path, name)
    except BadInput:
        raise
    except Exception as error:  # numpy and zipfile raise errors of many kinds for files that nobody vouches for
        made = "an .npz file made by numpy.savez, or an .npy file of numbers"
        reason = str(error) or type(error).__name__
        raise BadInput(name, path, made, f"It cannot be read: {reason}.") from error


def _arrays(path: Path, name: str) -> np.ndarray | dict[str, np.ndarray]:
    size = path.stat().st_size
    with path.open("rb") as raw, own_warnings("ignore"):  # about odd headers; what matters is raised
        if not zipfile.is_zipfile(raw):
            Allowance(name, path, size).take(size)
            raw.seek(0)
            loaded: np.ndarray = np.load(raw, allow_pickle=False)
            return loaded
        with zipfile.ZipFile(raw) as packed:
            entries = packed.infolist()
        check_entries(entries, name, path, size)
        raw.seek(0)
        with np.load(raw, allow_pickle=False) as file:
            if len(set(file.files)) < len(file.files):
                raise BadInput(name, path, "arrays of different names")
            return {key: _array(file, key, path) for key in file.files}


def _unsuitable(name: str, content: str) -> BadInput:
    return BadInput(
        name, content, "arrays x and y (or inputs and targets or labels)", "Save it with numpy.savez(path, x=x, y=y)."
    )


def _array(file: Any, key: str, path: Path) -> np.ndarray:
    try:
        array: np.ndarray = file[key]
    except ValueError as error:
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            raise UntrustedFile(
                str(path),
                f"array {key!r} of Python objects",
                "arrays of numbers",
                "Reading objects could run code, so nothing was loaded; save plain arrays.",
            ) from error
        raise
    return array
