"""A picture of faults found by inputs labeled, for several selection methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mutiny.reports.files import replacing
from mutiny.verbs.select.result import Ranking, Selection

COLORED = 10
"""Number of curves with a color, the best ones; the others are gray."""
INK, QUIET = "#222222", "#b8b8b8"


def draw_curves(result: Selection, path: Path) -> None:
    """Draw the curves of all methods up to 40% of the pool, with those of the ideal and of a random order."""
    from matplotlib.figure import Figure  # no global state, no display

    size, wrong = result.subject.pool.inputs, result.subject.pool.wrong or 0
    limit = min(size, max(2 * result.budget, round(0.4 * size)))
    figure = Figure(figsize=(9, 5.4), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    ideal = np.array([0, wrong, limit])
    axes.plot(ideal, np.minimum(ideal, wrong), color=INK, linewidth=1, linestyle=":", label="ideal")
    axes.plot([0, limit], [0, wrong * limit / size], color=INK, linewidth=1, linestyle="--", label="random, on average")
    ranked = sorted(result.rankings, key=lambda ranking: -_faults(ranking, result.budget))
    for place, ranking in reversed(list(enumerate(ranked))):
        _draw(axes, ranking, place, limit)
    axes.axvline(result.budget, color=QUIET, linewidth=1)
    axes.annotate(f" budget {result.budget:,}", (result.budget, 0), color="#777777", fontsize=8, va="bottom")
    axes.set(xlim=(0, limit), ylim=(0, None), xlabel="inputs labeled", ylabel="faults found")
    axes.set_title(f"{result.subject.name}: {wrong:,} of {size:,} inputs are faults", loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    names = [ranking.method for ranking in ranked[:COLORED]] + ["random, on average", "ideal"]
    order = [labels.index(name) for name in names]
    axes.legend(
        [handles[index] for index in order],
        names,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        fontsize=8,
    )
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lower().removeprefix("."))


def _draw(axes: Any, ranking: Ranking, place: int, limit: int) -> None:
    if ranking.quality is None:
        return
    labels, faults = np.array([(0, 0), *ranking.quality.curve]).T
    shown = labels <= limit
    color = f"C{place}" if place < COLORED else QUIET
    width = 1.8 if place < COLORED else 0.8
    axes.plot(labels[shown], faults[shown], color=color, linewidth=width, label=ranking.method, zorder=3 - place / 99)


def _faults(ranking: Ranking, budget: int) -> float:
    """Faults found within the budget."""
    return 0.0 if ranking.quality is None else ranking.quality.fdr * budget
