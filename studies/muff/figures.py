"""Figs. 2 and 3, drawn from the rows of RQ2 and the ratio part."""

from __future__ import annotations

from pathlib import Path

from studies.muff import ratio, rq2
from studies.muff.paper import OF_LAYERS, WITH_RATIO
from studies.muff.results import SUBJECTS, Results, sensitivity_of
from studies.writing import DPI, GRAY, INK, styled

BLUES = ("#c6dbef", "#6baed6", "#2171b5", "#08306b")
LINES = dict(zip(SUBJECTS, ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#000000"), strict=True))  # Okabe and Ito
MARKS = dict(zip(SUBJECTS, "osD^v", strict=True))
UNSTABLE = "//////"


def stability(results: Results, path: Path) -> bool:
    """Fig. 2: bars per operator and ratio, one panel per subject; False if there is nothing to draw."""
    subjects = [s for s in SUBJECTS if any(row["subject"] == s for row in results.rq2)]
    if not subjects:
        return False
    pyplot = styled()
    from matplotlib.patches import Patch

    top = results.most
    figure, panels = pyplot.subplots(
        len(subjects), 1, figsize=(7.5, 0.8 + 1.45 * len(subjects)), sharex=True, squeeze=False, layout="constrained"
    )
    codes = (*WITH_RATIO, *OF_LAYERS)
    for panel, subject in zip(panels[:, 0], subjects, strict=True):
        for place, code in enumerate(codes):
            bars = [(r, 0.2 * (i - 1.5), BLUES[i]) for i, r in enumerate(rq2.RATIOS)] if code in WITH_RATIO else []
            for of_ratio, shift, color in bars or [("", 0.0, GRAY)]:
                row = results.stability(subject, code, of_ratio)
                if row is None or row["status"] == "not applicable":
                    why = "not run" if row is None else "n/a"
                    panel.text(place + shift, 0.04 * top, why, ha="center", fontsize=6.5, rotation=90)
                    continue
                unstable = row["status"] == "unstable"
                look = {"color": "white", "hatch": UNSTABLE} if unstable else {"color": color}
                height = top if unstable else int(row["instances"])
                edge = color if color != BLUES[0] else "#9ecae1"  # the lightest blue is too light for a line
                panel.bar(place + shift, height, 0.17, edgecolor=edge, linewidth=0.8, **look)
        panel.set_title(subject, loc="left", pad=3)
        panel.set_ylim(0, top * 1.05)
        panel.set_yticks(range(0, top + 1, results.originals))
        panel.set_axisbelow(True)
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    panels[-1, 0].set_xticks(range(len(codes)), codes)
    figure.supylabel("instances until RSE is at most 5%", fontsize=9)
    legend = [Patch(color=color, label=f"ratio {r}") for r, color in zip(rq2.RATIOS, BLUES, strict=True)]
    legend += [Patch(color=GRAY, label="no ratio")]
    legend += [Patch(facecolor="white", edgecolor=INK, hatch=UNSTABLE, label=f"unstable after {top}")]
    figure.legend(handles=legend, ncols=6, loc="outside upper center", frameon=False, fontsize=8, handlelength=1.4)
    figure.savefig(path, dpi=DPI)
    pyplot.close(figure)
    return True


def sensitivity(results: Results, path: Path) -> bool:
    """Fig. 3: WI's sensitivity over its ratio, one line per subject; False if there is nothing to draw."""
    subjects = [s for s in SUBJECTS if any(row["subject"] == s for row in results.ratio)]
    if not subjects:
        return False
    pyplot = styled()
    figure, panel = pyplot.subplots(figsize=(6.5, 3.6), layout="constrained")
    cells = {s: [sensitivity_of(results.at_ratio(s, r)) for r in ratio.RATIOS] for s in subjects}
    lowest = 100 * min([0.0, *(value for found in cells.values() for value in found if isinstance(value, float))])
    for number, (subject, found) in enumerate(cells.items()):
        shift = 0.06 * (number - (len(subjects) - 1) / 2)  # lines on top of one another stay visible
        places = [i + shift for i in range(len(found))]
        values = [100 * value if isinstance(value, float) else float("nan") for value in found]
        panel.plot(
            places, values, color=LINES[subject], marker=MARKS[subject], markersize=6, linewidth=1.5, label=subject
        )
        gone = [place for place, value in zip(places, found, strict=True) if isinstance(value, str)]
        panel.plot(gone, [lowest - 8] * len(gone), color=LINES[subject], marker="x", markersize=6, linestyle="none")
    panel.set_xticks(range(len(ratio.RATIOS)), ratio.RATIOS)
    panel.set_yticks(range(0, 101, 20))
    panel.set_ylim(lowest - 14, 105)
    panel.set_xlabel("ratio of weights that WI changes (crosses: no value, see the table)")
    panel.set_ylabel("sensitivity in %")
    panel.set_axisbelow(True)
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(path, dpi=DPI)
    pyplot.close(figure)
    return True
