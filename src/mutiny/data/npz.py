"""Data from a numpy ``.npz`` file, without unpickling anything."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.data.arrays import ArrayData, array_data
from mutiny.errors import BadInput, UntrustedFile

INPUT_KEYS = ("x", "inputs")
TARGET_KEYS = ("y", "targets", "labels")


def npz_data(path: Path, name: str) -> ArrayData:
    """Arrays ``x`` (or ``inputs``) and ``y`` (or ``targets``, ``labels``) of a file.

    For models with several inputs, keys ``x_NAME`` give a dict of inputs with the names after ``x_``.
    Arrays of objects would need pickle, which can run code: they are refused unread.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {key: _array(file, key, path) for key in file.files}
    except (zipfile.BadZipFile, EOFError, OSError, ValueError, AttributeError, TypeError) as error:
        if isinstance(error, BadInput):
            raise
        raise BadInput(name, path, "an .npz file made by numpy.savez", f"It cannot be read: {error}.") from error
    target = next((key for key in TARGET_KEYS if key in arrays), None)
    inputs: Any = next((arrays[key] for key in INPUT_KEYS if key in arrays), None)
    if inputs is None:
        inputs = {key[2:]: array for key, array in arrays.items() if key.startswith("x_")} or None
    if target is None or inputs is None:
        raise BadInput(
            name, f"{path} with arrays {sorted(arrays)}", "arrays x and y (or inputs and targets or labels)",
            "Save it with numpy.savez(path, x=x, y=y).",
        )  # fmt: skip
    return array_data(inputs, arrays[target], name)


def _array(file: Any, key: str, path: Path) -> np.ndarray:
    try:
        array: np.ndarray = file[key]
    except ValueError as error:
        if "allow_pickle" in str(error) or "Object arrays" in str(error):
            raise UntrustedFile(
                str(path), f"array {key!r} of Python objects", "arrays of numbers",
                "Reading objects could run code, so nothing was loaded; save plain arrays.",
            ) from error  # fmt: skip
        raise
    return array
