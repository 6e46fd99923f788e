"""Figures of the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from studies.notice.results import Results
from studies.writing import DPI, GRAY, styled

COLORS = ("#00796b", "#c25700", "#5e35b1", "#1565c0")


def growth(results: Results, path: Path) -> bool:
    """Notice rate over the size of the test set; thin lines are orders of the inputs, thick lines their mean."""
    names = results.names(results.growth)
    if not names:
        return False
    pyplot = styled()
    picture, axes = pyplot.subplots(figsize=(6.4, 3.4))
    for name, color in zip(names, COLORS, strict=False):
        orders = results.orders(name)
        sizes = [size for size, _ in orders[0]]
        values = 100 * np.array([[rate for _, rate in order] for order in orders])
        for line in values:
            axes.plot(sizes, line, color=color, linewidth=0.5, alpha=0.5)
        axes.plot(sizes, values.mean(0), color=color, linewidth=2, label=name)
    axes.set(xlabel="test inputs", ylabel="notice rate, %", ylim=(0, 100))
    axes.grid(axis="y", color=GRAY, linewidth=0.3)
    axes.legend(frameon=False)
    picture.savefig(path, dpi=DPI, bbox_inches="tight")
    pyplot.close(picture)
    return True
