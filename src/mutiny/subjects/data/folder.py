"""Data from folders of images, ``DIR/CLASS/*.png`` or ``DIR/*.png``, on disk or inside a ``.zip`` file."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

from mutiny.core.claims import own_warnings
from mutiny.core.errors import BadInput
from mutiny.core.limits import Allowance
from mutiny.subjects.data.arrays import image_tensor, natural_mode
from mutiny.subjects.data.base import CHUNK, Data
from mutiny.subjects.data.datasets import dataset_data
from mutiny.subjects.data.tree import Tree, open_tree

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Formats of images, whatever the name of the file; Pillow's readers of some others start programs."""


class ImageFolder(Dataset[tuple[Tensor, float]]):
    """Images of a folder as float32 in [0, 1], ``(channels, height, width)``, with the number of their class.

    Args:
        tree: Folder with the images.
        size: Height and width to which every image is resized; by default all images must have the same size.
        gray: Whether to read one channel instead of three; by default if every image is gray.
        classes: Class folders in the order of their numbers; by default all, sorted by name. An empty list stands for
            the images directly in the folder, whose classes are unknown.
        name: Name of the split in error messages.
    """

    def __init__(
        self, tree: Tree, size: tuple[int, int] | None, gray: bool | None, classes: Sequence[str] | None, name: str
    ) -> None:
        self.tree, self.size = tree, size
        self.classes = list(classes) if classes is not None else tree.folders()
        self.files: list[tuple[str, float]] = []
        for number, label in enumerate(self.classes):
            self.files += [(file, number) for file in _images(tree, label, name)]
        if classes is not None and not self.classes:
            self.files = [(file, math.nan) for file in loose_images(tree)]
        if not self.files:
            raise BadInput(name, tree, "class folders with images in them", _hint(tree))
        modes = self._scan(name)
        self.mode = "L" if gray or (gray is None and modes == {"L"}) else "RGB"

    def _scan(self, name: str) -> set[str]:
        """Reads the headers of all images, so that errors show before the work starts."""
        modes, first, on_disk = set(), None, 0
        for file, _ in self.files:
            on_disk += self.tree.on_disk(file)
            with _opened(self.tree, file) as image:
                modes.add(_mode(image, self.tree, file))
                first = first or image.size
                if self.size is None and image.size != first:
                    raise BadInput(
                        name,
                        f"{self.tree}: images of {first[0]}x{first[1]} and, in {file}, "
                        f"{image.size[0]}x{image.size[1]} pixels",
                        "images of one size",
                        "Use mutiny.image_folder(path, size=(height, width)) to resize them.",
                    )
        pixels = math.prod(self.size or first or ()) * (1 if modes == {"L"} else 3)
        needed = 8 * pixels * min(CHUNK, len(self.files))  # as float32, item by item and as a batch
        Allowance(name, self.tree, on_disk).take(needed)
        return modes

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, float]:
        file, label = self.files[index]
        with _opened(self.tree, file) as image:
            try:
                picture = image.convert(self.mode)
            except Exception as error:
                raise _unreadable(self.tree, file, error) from error
        if self.size is not None:
            picture = picture.resize(self.size[::-1], Image.Resampling.BILINEAR)
        return image_tensor(picture, self.mode), label


def image_folder(
    path: str | Path,
    *,
    size: int | tuple[int, int] | None = None,
    gray: bool | None = None,
    classes: Sequence[str] | None = None,
    name: str = "data",
) -> Data:
    """Images of ``path/CLASS/``, labeled by class folder, with the names of files and classes.

    Args:
        path: Folder; it may be in a zip file, as in ``images.zip/cifar10/train``, which is not extracted.
        size: Height and width to which every image is resized, or one number for both; by default all images must have
            the same size.
        gray: Whether to read one channel instead of three; by default if every image is gray.
        classes: Class folders in the order of their numbers; by default all, sorted by name. With ``classes=[]``, the
            images directly in ``path`` are read, without labels.
        name: Name of the data in error messages.
    """
    shape = (size, size) if isinstance(size, int) else size
    if shape is not None and (len(shape) != 2 or min(shape) < 1):
        raise BadInput("size", size, "(height, width) in pixels, or one number for both")
    images = ImageFolder(open_tree(Path(path), name), shape, gray, classes, name)
    data = dataset_data(images, name)
    data.names, data.classes = tuple(file for file, _ in images.files), tuple(images.classes) or None
    return data


def loose_images(tree: Tree, inside: str = "") -> list[str]:
    """Images directly in the folder, not in subfolders."""
    return [file for file in tree.files(inside) if file.lower().endswith(SUFFIXES)]


def _images(tree: Tree, label: str, name: str) -> list[str]:
    if label not in tree.folders():
        raise BadInput(f"{name} classes", label, f"a folder in {tree}", f"There are: {', '.join(tree.folders()[:20])}.")
    files = loose_images(tree, label)
    if not files:
        raise BadInput(name, tree, f"images in every class folder, got none in {label}", _hint(tree))
    return files


def _hint(tree: Tree) -> str:
    folders = tree.folders()
    if not folders:
        return "The layout is DIR/CLASS/*.png; here are no folders."
    for folder in folders:
        with suppress(OSError):  # folders that may not be read
            classes = tree.folders(folder)
            if classes and loose_images(tree, f"{folder}/{classes[0]}"):
                return f"The layout is DIR/CLASS/*.png; did you mean {tree}/{folder}?"
    return f"The layout is DIR/CLASS/*.png with names ending in {', '.join(SUFFIXES)}."


def _opened(tree: Tree, file: str) -> Any:
    try:
        with own_warnings("error", Image.DecompressionBombWarning):
            return Image.open(io.BytesIO(tree.read(file)), formats=FORMATS)
    except BadInput:
        raise
    except Exception as error:  # Pillow raises errors of many kinds for files that nobody vouches for
        raise _unreadable(tree, file, error) from error


def _mode(image: Image.Image, tree: Tree, file: str) -> str:
    try:
        return natural_mode(image)
    except BadInput as error:
        raise BadInput("image", f"{tree}/{file}", error.expected, "Convert it first.") from error


def _unreadable(tree: Tree, file: str, error: BaseException) -> BadInput:
    return BadInput("image", f"{tree}/{file}", "a readable image", f"Remove or replace it: {error}.")
