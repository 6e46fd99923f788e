"""Data from IDX files, the format of MNIST and its relatives (http://yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import BinaryIO

import numpy as np
import torch

from mutiny.core.errors import BadInput
from mutiny.core.limits import Allowance, allowed
from mutiny.subjects.data.arrays import ArrayData
from mutiny.subjects.data.base import check_counts

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_PREFIXES = {"train": "train", "test": "t10k"}


def read_idx(path: Path) -> np.ndarray:
    """The array in an IDX file, gzipped or not. Header, size and end of the file are checked."""
    with path.open("rb") as probe:
        zipped = probe.read(2) == b"\x1f\x8b"
    try:
        with gzip.open(path, "rb") if zipped else path.open("rb") as file:
            return _parse(file, path)
    except (EOFError, MemoryError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput("IDX file", path, "an intact gzip file", f"Download it again: {error}.") from error


def idx_data(path: Path, name: str) -> ArrayData:
    """Images and labels of an IDX pair. 8-bit images become float32 in [0, 1], ``(n, 1, height, width)``.

    Args:
        path: Path of the images file (``...images-idx3-ubyte[.gz]``), with the labels file in the same folder; or of
            the folder, in which ``name`` selects the pair: ``train``, or ``t10k`` for ``test``.
        name: Name of the split.
    """
    images_path = _images_in(path, name) if path.is_dir() else path
    if "images" not in images_path.name:
        raise BadInput(name, path, "a file named ...images-idx3-ubyte or ...images-idx3-ubyte.gz")
    plain = images_path.name.removesuffix(".gz").replace("images-idx3", "labels-idx1")
    labels_path = _existing(images_path.parent, plain, f"{name} labels")
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim != 3 or labels.ndim != 1:
        raise BadInput(
            name, f"arrays of shape {images.shape} and {labels.shape}", "images (n, height, width) and labels (n,)"
        )
    check_counts(len(images), len(labels), name)
    tensor = torch.from_numpy(images.astype(np.float32))[:, None]
    if images.dtype == np.uint8:
        tensor = tensor.div_(255)
    return ArrayData(tensor, labels.astype(np.int64))


def holds_idx(folder: Path) -> bool:
    """Whether a folder holds IDX images."""
    return any(folder.glob("*images-idx3-ubyte*"))


def _parse(file: BinaryIO | gzip.GzipFile, path: Path) -> np.ndarray:
    header = file.read(4)
    if len(header) < 4 or header[:2] != b"\0\0" or header[2] not in _TYPES or not 1 <= header[3] <= 8:
        raise BadInput("IDX file", path, f"the header of an IDX file, not {header.hex(' ') or 'an empty file'}")
    dtype, dimensions = np.dtype(_TYPES[header[2]]), header[3]
    sizes = file.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise BadInput("IDX file", path, f"{dimensions} sizes after the header", "It is truncated: download it again.")
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    expected, on_disk = math.prod(shape) * dtype.itemsize, path.stat().st_size
    if isinstance(file, gzip.GzipFile) or expected <= on_disk:  # any other file is too short
        Allowance("IDX file", path, on_disk).take(expected + 4 * math.prod(shape))  # they become float32
    content = file.read(min(expected, allowed(on_disk)) + 1)
    if len(content) != expected:
        size = f"only {len(content)}" if len(content) < expected else "more"
        raise BadInput(
            "IDX file",
            path,
            f"{expected} bytes for shape {shape}, not {size}",
            "It is truncated or damaged: download it again.",
        )
    return np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="))


def _images_in(folder: Path, name: str) -> Path:
    if name not in _PREFIXES:
        files = sorted(file.name for file in folder.glob("*images-idx3-ubyte*"))
        raise BadInput(
            name,
            folder,
            "the path of an images file, because the folder has none for this split",
            f"Give one of {files}.",
        )
    return _existing(folder, f"{_PREFIXES[name]}-images-idx3-ubyte", f"{name} images")


def _existing(folder: Path, plain: str, argument: str) -> Path:
    for candidate in (folder / plain, folder / f"{plain}.gz"):
        if candidate.is_file():
            return candidate
    raise BadInput(argument, folder / plain, "a file of that name, or with .gz", "Images and labels belong together.")
