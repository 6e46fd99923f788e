"""Fig. 4 and a picture of Table 7, drawn from the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mutiny.verbs.select.metrics import Repeated
from studies.nss import paper
from studies.nss.methods import AUTHORS, GINI, NSS
from studies.nss.partitions import METHODS, PARTS
from studies.nss.results import Results, mean_of
from studies.nss.subjects import ORDER
from studies.nss.tables import SHOWN
from studies.writing import DPI, GRAY, INK, styled

LINES = {NSS: "#0072b2", AUTHORS: "#d55e00", GINI: "#009e73"}  # Okabe and Ito
MARKS = {NSS: "o", AUTHORS: "s", GINI: "^"}


def _panels(count: int, height: float, width: float, margin: float) -> tuple[Any, Any]:
    pyplot = styled()
    size = (margin + width * count, height)
    figure, panels = pyplot.subplots(1, count, figsize=size, sharey=True, squeeze=False, layout="constrained")
    return figure, panels[0]


def partitions(results: Results, path: Path) -> bool:
    """Fig. 4: accuracy in ten parts of the pool, by rising score; False if there is nothing to draw."""
    subjects = [s for s in ORDER if any(row["subject"] == s for row in results.partitions)]
    if not subjects:
        return False
    figure, panels = _panels(len(subjects), 2.9, 2.1, margin=2.2)  # room for the legend
    for panel, subject in zip(panels, subjects, strict=True):
        for method in METHODS:
            cells = [results.correlation(subject, method, f"accuracy_{part}") for part in range(1, PARTS + 1)]
            means = [mean_of(one) for one in cells]
            if None in means:
                continue
            shares = [100 * (value or 0.0) for value in means]
            panel.plot(
                range(1, PARTS + 1), shares, color=LINES[method], marker=MARKS[method], markersize=4, label=method
            )
        panel.set_title(subject, loc="left")
        panel.set_xticks([1, PARTS], ["low", "high"])
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    panels[0].set_ylabel("accuracy in %")
    panels[0].set_ylim(0, 103)
    figure.supxlabel("tenths of the pool by score", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels) or 1, loc="outside upper center", frameon=False)
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True


def detection(results: Results, path: Path) -> bool:
    """FDR at 5% of every method, ours with its interval and the paper's; False if there is nothing to draw."""
    subjects = [s for s in ORDER if any(row["subject"] == s for row in results.detection)]
    if not subjects:
        return False
    figure, panels = _panels(len(subjects), 7.0, 2.0, margin=3.2)  # room for the names
    for panel, subject in zip(panels, subjects, strict=True):
        rate = results.fault_rate(subject)
        if rate is not None:
            panel.axvline(100 * rate, color=GRAY, linewidth=1, linestyle=":")
        for place, method in enumerate(SHOWN):
            found = results.found(subject, method, "fdr_5")
            if isinstance(found, Repeated):
                half = 100 * (found.interval.high - found.mean) if found.interval else 0.0
                panel.errorbar(
                    100 * found.mean, place, xerr=half, color=LINES.get(method, INK), marker="o", markersize=4,
                    linewidth=1,
                )  # fmt: skip
            theirs = paper.FDR[5].get(subject, {}).get(method)
            if theirs is not None:
                panel.plot(100 * theirs, place, color=GRAY, marker="D", markersize=4, fillstyle="none")
        panel.set_title(subject, loc="left")
        panel.set_xlim(0, 100)
        panel.grid(axis="x", color="#e5e5e5", linewidth=0.6)
    panels[0].set_yticks(range(len(SHOWN)), SHOWN)
    panels[0].set_ylim(len(SHOWN) - 0.4, -0.6)
    figure.supxlabel("FDR at 5% (dots: here, diamonds: paper, dotted: faults in the pool)", fontsize=9)
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True
