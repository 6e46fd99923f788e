"""Figs. 2 to 4, and a picture of the answer, drawn from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mutiny.core.stats import Rate
from studies.muten import arms, choice, comparisons, number, paper, saturation
from studies.muten.comparisons import Side
from studies.muten.defended import SURER
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS
from studies.writing import DPI, GRAY, INK, styled

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#d55e00", "#009e73", "#cc79a7"  # Okabe and Ito
LINES = dict(zip(arms.FOUR, (GRAY, ORANGE, BLUE, GREEN), strict=True))
MARKS = dict(zip(arms.FOUR, "Dos^", strict=True))
KINDS = dict(zip(choice.ARMS, (ORANGE, PURPLE, INK), strict=True))


def epsilon(results: Results, path: Path) -> bool:
    """Fig. 2: success over eps, a row of panels per step; False if there is nothing to draw."""
    subjects = [name for name in ORDER if name in results.present(arms.ART)]
    if not subjects:
        return False
    figure, panels = _grid(arms.STEPS, subjects, 2.6)
    for row, attack in zip(panels, arms.STEPS, strict=True):
        for panel, subject in zip(row, subjects, strict=True):
            for shift, arm in enumerate(arms.FOUR):
                side, levels = Side(attack, arm), TARGETS[subject].levels
                rates = [results.success(subject, side, level) for level in levels]
                places = np.arange(len(levels)) + 0.1 * (shift - 1.5)
                _line(panel, places, rates, LINES[arm], MARKS[arm], arms.TITLES[arm])
            if attack == arms.ART and subject == paper.LAST_AT[0]:
                at = TARGETS[subject].levels.index(paper.LAST_AT[1])
                for value, arm in zip(paper.LAST, (arms.ORIGINAL, arms.MUTEN), strict=True):
                    panel.plot(at, 100 * value, color=LINES[arm], marker=MARKS[arm], fillstyle="none", markersize=7)
            _ticks(panel, TARGETS[subject].levels)
    return _finish(figure, panels, "allowed distance eps (hollow: the paper's VGG16)", path)


def gains(results: Results, path: Path) -> bool:
    """What MUTEN gains over each opponent, mean over distances; False if there is nothing to draw."""
    subjects = [name for name in ORDER if name in results.present(arms.ART)]
    if not subjects:
        return False
    pyplot = styled()
    size = (4.6 + 2.2 * len(subjects), 3.4)
    figure, grid = pyplot.subplots(1, len(subjects), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for panel, subject in zip(grid[0], subjects, strict=True):
        panel.axvline(0, color=GRAY, linewidth=1)
        for place, compared in enumerate(comparisons.ALL):
            gain = results.gain(subject, compared, TARGETS[subject].levels)
            if gain is None:
                continue
            ends = [[100 * max(0.0, gain.value - gain.interval.low)], [100 * max(0.0, gain.interval.high - gain.value)]]
            color = ORANGE if compared is comparisons.PAPERS else BLUE
            panel.errorbar(100 * gain.value, place, xerr=ends, color=color, marker="o", markersize=5, linewidth=1.2)
        panel.set_title(TARGETS[subject].title, loc="left")
        panel.grid(axis="x", color="#e5e5e5", linewidth=0.6)
    grid[0][0].set_yticks(range(len(comparisons.ALL)), [one.title for one in comparisons.ALL])
    grid[0][0].set_ylim(len(comparisons.ALL) - 0.5, -0.5)
    figure.supxlabel("points of success that MUTEN has more, with 95% intervals", fontsize=9)
    figure.savefig(path, dpi=DPI)
    pyplot.close(figure)
    return True


def numbers(results: Results, path: Path) -> bool:
    """Fig. 3: success over the number of mutants; False if there is nothing to draw."""
    subjects = [s for s in ORDER if TARGETS[s].whole and any(_counted(results, s, step) for step in arms.STEPS)]
    if not subjects:
        return False
    figure, panels = _grid(arms.STEPS, subjects, 2.6)
    for row, attack in zip(panels, arms.STEPS, strict=True):
        for panel, subject in zip(row, subjects, strict=True):
            level = dict(number.cases(TARGETS[subject]))[attack]
            alone = results.share(subject, Side(attack, arms.ORIGINAL), level)
            if alone is not None:
                panel.axhline(100 * alone, color=GRAY, linestyle=":", label=arms.TITLES[arms.ORIGINAL])
            _line(panel, number.COUNTS, _counted(results, subject, attack), LINES[arms.MUTEN], "o", "MUTEN")
            same = [results.success(subject, Side(attack, number.alone(attack, n)), level) for n in number.ALONE]
            places = np.array(number.ALONE) + 0.15
            _line(panel, places, same, LINES[arms.RESTARTED], "s", "alone, as many passes (restarts)")
            panel.set_xticks(number.COUNTS)
            panel.annotate(f"eps {level}", (0.97, 0.04), xycoords="axes fraction", ha="right")
    return _finish(figure, panels, "mutants in the ensemble", path)


def _counted(results: Results, subject: str, attack: str) -> list[Rate | None]:
    """Success by number of mutants; an empty list if there is none."""
    level = dict(number.cases(TARGETS[subject]))[attack]
    found = [results.success(subject, Side(attack, f"diverse {n}"), level) for n in number.COUNTS]
    return found if any(found) else []


def kinds(results: Results, path: Path) -> bool:
    """Fig. 4: success over eps by kind of mutants; False if there is nothing to draw."""
    random = choice.ARMS["random"]
    subjects = [s for s in ORDER if any(r["subject"] == s and r["arm"] == random for r in results.assaults)]
    if not subjects:
        return False
    figure, panels = _grid(arms.STEPS, subjects, 2.6)
    for row, attack in zip(panels, arms.STEPS, strict=True):
        for panel, subject in zip(row, subjects, strict=True):
            levels = TARGETS[subject].levels[:: choice.EVERY]
            for shift, (kind, arm) in enumerate(choice.ARMS.items()):
                rates = [results.success(subject, Side(attack, arm), level) for level in levels]
                _line(panel, np.arange(len(levels)) + 0.08 * (shift - 1), rates, KINDS[kind], "os^"[shift], kind)
            _ticks(panel, levels)
    return _finish(figure, panels, "allowed distance eps", path)


def saturation_of(results: Results, path: Path) -> bool:
    """Success on networks that are sure, with the usual loss and with a clipped one; False if there is nothing."""
    subjects = [s for s in ORDER if any(r["subject"] == s and r["defense"] == SURER for r in results.assaults)]
    if not subjects:
        return False
    figure, panels = _grid(saturation.ATTACKS, subjects, 2.6)
    looks = {
        arms.ORIGINAL: (GRAY, "D"),
        arms.MUTEN: (ORANGE, "o"),
        arms.RESTARTED: (BLUE, "s"),
        choice.ARMS["similar"]: (INK, "^"),
    }
    for row, attack in zip(panels, saturation.ATTACKS, strict=True):
        for panel, subject in zip(row, subjects, strict=True):
            levels = TARGETS[subject].levels[:: choice.EVERY]
            for shift, (arm, (color, mark)) in enumerate(looks.items()):
                rates = [results.success(subject, Side(attack, arm), level, SURER) for level in levels]
                title = arms.TITLES.get(arm, "5 similar mutants")
                _line(panel, np.arange(len(levels)) + 0.08 * (shift - 1.5), rates, color, mark, title)
            _ticks(panel, levels)
    for panel, attack in zip(panels[:, 0], saturation.ATTACKS, strict=True):
        panel.set_ylabel(f"{'clipped' if attack == arms.CLIPPED else 'exact'} loss, step 0.1:\nsuccess in %")
    return _finish(figure, panels, "allowed distance eps; outputs of the networks multiplied by 3", path)


def _grid(attacks: Sequence[str], subjects: Sequence[str], width: float) -> tuple[Any, Any]:
    size = (0.9 + width * len(subjects), 0.9 + 2.1 * len(attacks))
    figure, panels = styled().subplots(
        len(attacks), len(subjects), figsize=size, sharey=True, squeeze=False, layout="constrained"
    )
    for row, attack in zip(panels, attacks, strict=True):
        row[0].set_ylabel(f"{arms.ATTACKS[attack]}:\nsuccess in %")
    for panel, subject in zip(panels[0], subjects, strict=True):
        panel.set_title(TARGETS[subject].title, loc="left")
    for panel in panels.flat:
        panel.set_ylim(-3, 103)
        panel.grid(axis="y", color="#e5e5e5", linewidth=0.6)
    return figure, panels


def _line(panel: Any, places: Any, rates: Sequence[Rate | None], color: str, mark: str, label: str) -> None:
    """Shares with their intervals where they are known."""
    known = [
        (x, 100 * r.value, r.interval) for x, r in zip(places, rates, strict=bool(rates)) if r and r.value is not None
    ]
    if known:
        x, y, between = zip(*known, strict=True)
        ends = [
            [v - 100 * i.low for v, i in zip(y, between, strict=True)],
            [100 * i.high - v for v, i in zip(y, between, strict=True)],
        ]
        panel.errorbar(
            x,
            y,
            yerr=np.maximum(ends, 0),
            color=color,
            marker=mark,
            markersize=4,
            linewidth=1.2,
            elinewidth=0.7,
            label=label,
        )


def _ticks(panel: Any, levels: Sequence[str]) -> None:
    panel.set_xticks(range(len(levels)), levels, rotation=45 if "/" in levels[0] else 0)


def _finish(figure: Any, panels: Any, below: str, path: Path) -> bool:
    figure.supxlabel(below, fontsize=9)
    each: Mapping[str, Any] = {
        label: handle for panel in panels.flat for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    columns = max(1, min(len(each), int(figure.get_figwidth() / 1.5)))
    figure.legend([*each.values()], [*each], ncols=columns, loc="outside upper center", frameon=False)
    figure.savefig(path, dpi=DPI)
    styled().close(figure)
    return True
