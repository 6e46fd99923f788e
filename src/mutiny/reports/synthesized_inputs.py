"""Synthesized inputs in files: arrays, and a picture of some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.reports.files import replacing
from mutiny.reports.image_grid import draw_changes
from mutiny.subjects.data.nested import leaves
from mutiny.verbs.locate.synthesis import Synthesis


def write_synthesis(found: Synthesis, path: Path) -> None:
    """An ``.npz`` file: ``x`` (or ``x_NAME`` for several inputs), ``original``, what became of each, and distances.

    With ``y``, the labels of the originals where they are known, it is a file of labeled inputs that other verbs read.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"index": found.indices, "raised": found.raised}
    arrays |= {"failed": found.failed, "kept": found.kept, "succeeded": found.succeeded}
    arrays |= {str(norm): values for norm, values in found.distances.items()}
    if found.labels is not None:
        arrays["y"] = found.labels
    for prefix, nested in (("x", found.inputs), ("original", found.originals)):
        for name, leaf in leaves(nested):
            arrays[prefix + name.replace(".", "_")] = leaf.numpy()
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def draw_grid(found: Synthesis, path: Path, title: str = "") -> None:
    """Some inputs before and after, and the difference: first those that fail and have kept their label."""
    words = np.where(found.kept, np.where(found.failed, "fails", "passes"), "label lost")
    marks = [(str(word), bool(success)) for word, success in zip(words, found.succeeded, strict=True)]
    draw_changes(path, found.originals, found.inputs, marks, "synthesized", title)
