"""Figs. 3 and 4 and a picture of Table 3, drawn from the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.deepfault import examples, paper
from studies.deepfault.lab import ALL, MEASURES, SHORT
from studies.deepfault.results import Results, present
from studies.deepfault.subjects import CIFAR, family_of
from studies.store import matching
from studies.writing import DPI, INK, styled

LINES = dict(zip(ALL, ("#0072b2", "#d55e00", "#009e73", "#7f7f7f"), strict=True))  # Okabe and Ito
MARKS = dict(zip(ALL, "os^D", strict=True))


def accuracy(results: Results, path: Path) -> bool:
    """Table 3: accuracy over k, a row of panels per way; False if there is nothing to draw."""
    subjects = present(results.synthesis)
    ways = [way for way in CIFAR.ways if matching(results.synthesis, way=way)]
    if not subjects:
        return False
    figure, panels = styled().subplots(
        len(ways), len(subjects), figsize=(1.1 + 2.0 * len(subjects), 0.8 + 1.9 * len(ways)), sharey=True,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for row, way in zip(panels, ways, strict=True):
        drawn = [panel for panel, name in zip(row, subjects, strict=True) if _accuracy(panel, results, name, way)]
        drawn[0].set_ylabel(f"{way}: accuracy in %")
        drawn[0].set_ylim(-3, 103)
        drawn[0].tick_params(labelleft=True)
    for panel, subject in zip(panels[0], subjects, strict=True):
        panel.set_title(subject, loc="left")
    figure.supxlabel("number of suspects (filled: here, with 95% intervals over networks; hollow: paper)", fontsize=9)
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(ALL), loc="outside upper center", frameon=False)
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True


def _accuracy(panel: Any, results: Results, subject: str, way: str) -> bool:
    family = family_of(subject)
    if way not in family.ways:
        panel.set_axis_off()
        return False
    for number, measure in enumerate(ALL):
        places = np.arange(len(family.ks)) + 0.1 * (number - 1.5)
        found = [results.synthesized(subject, way, k, measure, "accuracy") for k in family.ks]
        means = [100 * one.mean if one else np.nan for one in found]
        halves = [100 * (one.interval.high - one.mean) if one and one.interval else 0.0 for one in found]
        look = {"color": LINES[measure], "marker": MARKS[measure], "markersize": 4}
        panel.errorbar(places, means, yerr=halves, linewidth=1.2, elinewidth=0.8, label=measure, **look)
        beside = [paper.SYNTHESIZED[subject, k, "accuracy"][measure] for k in family.ks]
        values = [np.nan if value is None else 100 * value for value in beside]
        panel.plot(places, values, linestyle="none", fillstyle="none", alpha=0.7, **look)
    panel.set_xticks(range(len(family.ks)), [str(k) for k in family.ks])
    panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    return True


def layers(results: Results, path: Path) -> bool:
    """Fig. 3: where suspects are, in a network of each family; False if there is nothing to draw."""
    subjects = [name for name in examples.SHOWN if name in present(results.suspects)]
    cases = [(name, at) for name in subjects for at in family_of(name).readings]
    if not cases:
        return False
    figure, panels = styled().subplots(
        1, len(cases), figsize=(1.0 + 3.0 * len(cases), 3.1), sharey=True, squeeze=False, layout="constrained"
    )  # fmt: skip
    for panel, (name, at) in zip(panels[0], cases, strict=True):
        k = family_of(name).ks[-1]
        every = results.in_layers(name, at, MEASURES[0], k, "neurons")
        places = np.arange(len(every))
        panel.bar(places, [100 * share for share in every.values()], 0.86, color="#e5e5e5", label="all neurons")
        for number, measure in enumerate(MEASURES):
            shares = results.in_layers(name, at, measure, k)
            heights = [100 * shares.get(layer, 0.0) for layer in every]
            panel.bar(places + 0.26 * (number - 1), heights, 0.24, color=LINES[measure], label=measure)
        panel.set_xticks(places, list(every), rotation=45, ha="right")
        panel.set_title(f"{name}, k = {k}" + (f", {at}" if len(family_of(name).readings) > 1 else ""), loc="left")
        panel.set_axisbelow(True)
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    panels[0][0].set_ylabel("% of the suspects")
    handles, labels = panels[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside upper center", frameon=False)
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True


def pictures(results: Results, folder: Path, path: Path) -> bool:
    """Fig. 4: new inputs above their originals; False if there are none."""
    subjects = [name for name in present(results.examples) if examples.pictures(folder, name).exists()]
    if not subjects:
        return False
    columns = len(ALL) * len(subjects)
    figure, panels = styled().subplots(2, columns, figsize=(1.25 * columns, 3.2), squeeze=False, layout="constrained")
    for number, name in enumerate(subjects):
        with np.load(examples.pictures(folder, name), allow_pickle=False) as file:
            images = file["pictures"]
        for place, (row, pair) in enumerate(zip(matching(results.examples, subject=name), images, strict=True)):
            for panel, image, said in zip(
                panels[:, number * len(ALL) + place], pair, (row["after"], row["before"]), strict=True
            ):  # fmt: skip
                panel.imshow(image.squeeze(), cmap="gray", vmin=0, vmax=255)
                panel.set_xticks([])
                panel.set_yticks([])
                panel.spines[:].set_visible(False)
                panel.set_xlabel(said, color=INK)
            panels[0, number * len(ALL) + place].set_title(SHORT[row["measure"]])
    panels[0, 0].set_ylabel("new")
    panels[1, 0].set_ylabel("original")
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True
