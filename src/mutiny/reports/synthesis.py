"""Synthesised inputs in files: arrays, and a picture of some of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.data.nested import leaves
from mutiny.errors import BadInput
from mutiny.localization.synthesis import Synthesis
from mutiny.reports.files import replacing

SHOWN = 10
"""Inputs in the picture."""


def write_synthesis(found: Synthesis, path: Path) -> None:
    """An ``.npz`` file: ``x`` (or ``x_NAME`` for several inputs), ``original``, what became of each, and distances."""
    arrays: dict[str, npt.NDArray[Any]] = {"index": found.indices, "raised": found.raised}
    arrays |= {"failed": found.failed, "kept": found.kept, "succeeded": found.succeeded}
    arrays |= {str(norm): values for norm, values in found.distances.items()}
    for prefix, nested in (("x", found.inputs), ("original", found.originals)):
        for name, leaf in leaves(nested):
            arrays[prefix + name.replace(".", "_")] = leaf.numpy()
    with replacing(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def draw_grid(found: Synthesis, path: Path, title: str = "") -> None:
    """Some inputs before and after, and the difference: first those that fail and have kept their label."""
    from matplotlib.figure import Figure  # no global state, no display

    order = np.argsort(~found.succeeded, kind="stable")[:SHOWN]
    before, after = (_images(nested)[order] for nested in (found.originals, found.inputs))
    figure = Figure(figsize=(1.1 * len(order) + 1.2, 3.7), dpi=150, layout="constrained")
    axes = figure.subplots(3, len(order), squeeze=False)
    low, high = float(before.min()), float(before.max())
    largest = float(np.abs(after - before).max()) or 1.0
    for column, place in enumerate(order):
        old, new = before[column], after[column]
        change = (new - old).mean(axis=-1) if new.ndim == 3 else new - old
        for axis, image in ((axes[0, column], old), (axes[1, column], new)):
            scaled = np.clip((image - low) / (high - low or 1.0), 0, 1)
            axis.imshow(scaled, cmap="gray", vmin=0, vmax=1)
        axes[2, column].imshow(change, cmap="RdBu_r", vmin=-largest, vmax=largest)
        mark = "label lost" if not found.kept[place] else "fails" if found.failed[place] else "passes"
        axes[1, column].set_title(mark, fontsize=7, color="#b2182b" if found.succeeded[place] else "#555555", pad=2)
    for row, name in enumerate(("original", "synthesised", "difference")):
        axes[row, 0].set_ylabel(name, fontsize=8)
        for axis in axes[row]:
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    if title:
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lower().removeprefix("."))


def _images(nested: Any) -> npt.NDArray[Any]:
    """The first input that looks like images: ``(n, h, w)``, or ``(n, h, w, 3)`` in colour."""
    for _, leaf in leaves(nested):
        if leaf.ndim == 4 and leaf.is_floating_point():
            array: npt.NDArray[Any] = leaf.numpy()
            return array.transpose(0, 2, 3, 1) if array.shape[1] == 3 else array[:, 0]
        if leaf.ndim == 3 and leaf.is_floating_point():
            found: npt.NDArray[Any] = leaf.numpy()
            return found
    raise BadInput("--grid", "inputs that are no images", "images (n, channels, height, width)")
