"""Fig. 4: violin plots of spectral distances, one picture per subject."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.reports.files import check_picture, replacing
from studies.deepcrime.results import Results
from studies.deepcrime.spectra import USUAL

FEW = 200
"""Groups with at most this many values show each of them."""
WIDE = 100.0
"""Medians that differ by more than this factor are drawn on a logarithmic axis."""
BODY, EDGE, INK = "#9ecae1", "#2171b5", "#222222"


def distances(results: Results, subject: str, span: str, path: Path) -> bool:
    """Draws a violin for each pair of groups; False if there is nothing to draw."""
    values = results.distances_of(subject, span, USUAL)
    if not values:
        return False
    draw_violins(values, path, "Log-Euclidean distance", f"{subject}, range of {span}, epsilon {USUAL}")
    return True


def draw_violins(values: Mapping[str, npt.ArrayLike], path: Path, label: str, title: str = "") -> None:
    """Draws the distribution of values of each group, with the median as a line and a number.

    Args:
        values: Values by the name of the group. Groups are ordered by median; groups without values come last.
        path: File name that ends in .png, .svg or .pdf.
        label: Label of the axis of values.
        title: Title of the figure.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     draw_violins({"WI-WI": [1.0, 1.5, 2.0], "WI-DC": [4.0, 5.0]}, Path(folder, "a.png"), "distance")
    ...     [file.name for file in Path(folder).iterdir()]
    ['a.png']
    """
    from matplotlib.figure import Figure  # no global state, no display

    check_picture(path, "path")
    groups = {name: _checked(name, group) for name, group in values.items()}
    filled = sorted((name for name in groups if groups[name].size), key=lambda name: float(np.median(groups[name])))
    if not filled:
        raise BadInput("values", "none", "at least one number")
    medians = [float(np.median(groups[name])) for name in filled]
    names = [*filled, *(name for name in groups if not groups[name].size)]
    figure = Figure(figsize=(max(4.5, 1.4 + 1.15 * len(names)), 4.2), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    least = min(groups[name].min() for name in filled)
    logarithmic = least > 0 and medians[-1] > WIDE * medians[0]
    for place, name in enumerate(filled):
        _draw(axes, place, np.log10(groups[name]) if logarithmic else groups[name], medians[place])
    axes.set_xticks(range(len(names)), [f"{name}\nn = {groups[name].size:,}" for name in names])
    axes.set(xlim=(-0.5, len(names) - 0.3), ylabel=label)
    axes.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if logarithmic:
        axes.yaxis.set_major_locator(_locator())
        axes.yaxis.set_major_formatter(lambda power, _: f"{10.0**power:g}")
    elif least >= 0:
        axes.set_ylim(bottom=-0.02 * axes.get_ylim()[1])
    if title:
        axes.set_title(title, loc="left", fontsize=11)
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lower().removeprefix("."))


def _draw(axes: Any, place: int, values: npt.NDArray[np.float64], median: float) -> None:
    parts = axes.violinplot([values], [place], widths=0.6, showextrema=False)
    for body in parts["bodies"]:
        body.set(facecolor=BODY, edgecolor=EDGE, alpha=1, linewidth=0.8)
    if len(values) <= FEW:
        axes.plot(np.full(len(values), place), values, ".", color=EDGE, markersize=3, alpha=0.6)
    middle = float(np.median(values))
    axes.plot([place - 0.2, place + 0.2], [middle, middle], color=INK, linewidth=1.6)
    axes.annotate(f"{median:.3g}", (place + 0.33, middle), color=INK, fontsize=9, va="center")


def _locator() -> Any:
    from matplotlib.ticker import MultipleLocator

    return MultipleLocator(1)


def _checked(name: str, group: npt.ArrayLike) -> npt.NDArray[np.float64]:
    values = np.asarray(group, np.float64).reshape(-1)
    if not np.isfinite(values).all():
        raise BadInput(f"values of {name}", "NaN or infinite", "finite numbers")
    return values
