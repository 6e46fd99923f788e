"""A picture of inputs before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.reports.files import replacing
from mutiny.subjects.data.nested import leaves

SHOWN = 10
"""Maximum number of inputs in a picture."""
Mark = tuple[str, bool]
"""Title of a changed input, and whether the change succeeded."""


def draw_changes(path: Path, before: Any, after: Any, marks: Sequence[Mark], made: str, title: str = "") -> None:
    """Draw some inputs before and after the change, and the difference, successes first.

    Args:
        path: Output file: .png, .svg or .pdf.
        before: Inputs, one of which at least is a batch of images.
        after: The inputs after the change.
        marks: Mark of each input.
        made: Name of the changed inputs.
        title: Title of the picture.
    """
    from matplotlib.figure import Figure  # no global state, no display

    order = np.argsort([not success for _, success in marks], kind="stable")[:SHOWN]
    old, new = (images(nested, path)[order] for nested in (before, after))
    figure = Figure(figsize=(1.1 * len(order) + 1.2, 3.7), dpi=150, layout="constrained")
    axes = figure.subplots(3, len(order), squeeze=False)
    low, high = float(old.min()), float(old.max())
    largest = float(np.abs(new - old).max()) or 1.0
    for column, place in enumerate(order):
        change = new[column] - old[column]
        for axis, image in ((axes[0, column], old[column]), (axes[1, column], new[column])):
            axis.imshow(np.clip((image - low) / (high - low or 1.0), 0, 1), cmap="gray", vmin=0, vmax=1)
        axes[2, column].imshow(
            change.mean(axis=-1) if change.ndim == 3 else change, cmap="RdBu_r", vmin=-largest, vmax=largest
        )
        text, success = marks[place]
        axes[1, column].set_title(text, fontsize=7, color="#b2182b" if success else "#555555", pad=2)
    for row, name in enumerate(("original", made, "difference")):
        axes[row, 0].set_ylabel(name, fontsize=8)
        for axis in axes[row]:
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    if title:
        figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lower().removeprefix("."))


def images(nested: Any, path: Path | None = None) -> npt.NDArray[Any]:
    """The first input that looks like images: ``(n, h, w)``, or ``(n, h, w, 3)`` in color.

    Args:
        nested: Inputs.
        path: File for the picture, for messages.
    """
    shapes = []
    for _, leaf in leaves(nested):
        shapes.append(str(tuple(leaf.shape[1:])))
        if leaf.ndim == 4 and leaf.is_floating_point():
            array: npt.NDArray[Any] = leaf.numpy()
            return array.transpose(0, 2, 3, 1) if array.shape[1] == 3 else array[:, 0]
        if leaf.ndim == 3 and leaf.is_floating_point():
            gray: npt.NDArray[Any] = leaf.numpy()
            return gray
    expected = f"images (n, channels, height, width), got inputs of shape {' and '.join(shapes)}"
    raise BadInput("--grid", path, expected, "Leave out --grid.")
