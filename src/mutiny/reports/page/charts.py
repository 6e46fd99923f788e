"""Draws each kind of chart with matplotlib."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from mutiny.reports.formatting import percent
from mutiny.reports.page import svg
from mutiny.reports.page.pictures import (
    Layers,
    Lines,
    Matrix,
    NoticeCurve,
    Picture,
    Ranges,
    Scores,
    SearchPath,
    Strengths,
)

MARKS = {"killed": ("o", svg.KILLED), "survived": ("^", svg.SURVIVED), "unstable": ("D", svg.UNSTABLE)}
"""Shape and color of each verdict."""
SETS = {"train": svg.QUIET, "test": svg.INK}
"""Colors of the lines of sets. Marks have the colors of verdicts; those of train are hollow."""
WIDTH = 4.6
"""Width in inches: two charts fit side by side on a screen, and one fits a phone."""
DASHES = {"solid": "-", "dashed": "--", "dotted": ":"}


def draw(picture: Picture, name: str) -> str:
    """A picture as an ``<svg>`` element."""
    return drawing(picture).svg(name)


def drawing(picture: Picture) -> svg.Drawing:
    """The drawing of a picture, with its size."""
    match picture:
        case Scores():
            return svg.Drawing(partial(_scores, picture), WIDTH, _height(len(picture.names)))
        case Ranges():
            return svg.Drawing(partial(_ranges, picture), WIDTH, _height(len(picture.names)))
        case Strengths():
            return svg.Drawing(partial(_strengths, picture), WIDTH, 2.7, fixed=True)
        case SearchPath():
            return svg.Drawing(partial(_path, picture), WIDTH, 2.7, fixed=True)
        case Lines():
            return svg.Drawing(partial(_lines, picture), WIDTH, 3.0)
        case Matrix():
            return svg.Drawing(partial(_matrix, picture), 8.6, _matrix_height(picture))
        case Layers():
            return svg.Drawing(partial(_layers, picture), 8.6, 0.9 + 0.34 * len(picture.names))
        case NoticeCurve():
            return svg.Drawing(partial(_notice, picture), 4.2, 2.3)


def _height(rows: int) -> float:
    return 0.75 + 0.27 * rows


def _rows(axes: Any, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Rows from top to bottom on an axis of shares."""
    places = np.arange(len(names))[::-1]
    axes.set_yticks(places, [_short(name) for name in names])
    axes.set(ylim=(-0.6, len(names) - 0.4), xlim=(-0.02, 1.02))
    axes.set_xticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    axes.grid(axis="x")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return places


def _short(name: str, most: int = 26) -> str:
    """A text of the user, cut to a maximum length, with characters that cannot be printed replaced."""
    clean = "".join(letter if letter.isprintable() else "\ufffd" for letter in name)
    return clean if len(clean) <= most else f"{clean[: most - 1]}…"


def _scores(picture: Scores, figure: Any) -> None:
    axes = figure.add_subplot()
    places = _rows(axes, picture.names)
    if picture.interval is not None:
        axes.axvspan(*picture.interval, color=svg.BAND, linewidth=0, zorder=0)
    if picture.overall is not None:
        axes.axvline(picture.overall, color=svg.INK, linewidth=1.2)
    for place, value in zip(places, picture.values, strict=True):
        if value is not None:
            axes.plot([0, value], [place, place], color=svg.KILLED, linewidth=1.6, alpha=0.5)
            axes.plot([value], [place], "o", color=svg.KILLED, markersize=6)
    axes.set_xlabel("mutation score")


def _ranges(picture: Ranges, figure: Any) -> None:
    axes = figure.add_subplot()
    places = _rows(axes, picture.names)
    axes.hlines(places, picture.lows, picture.highs, color=svg.KILLED, linewidth=3, alpha=0.35)
    axes.plot(picture.values, places, "o", color=svg.KILLED, markersize=5.5, linestyle="none")
    axes.set_xlabel(picture.label)


def _verdicts(axes: Any, xs: Any, ys: Any, verdicts: list[str], hollow: bool) -> None:
    for verdict, (marker, color) in MARKS.items():
        places = [place for place, each in enumerate(verdicts) if each == verdict]
        if places:
            face = svg.PAGE if hollow else color
            axes.plot(
                [xs[place] for place in places],
                [ys[place] for place in places],
                marker,
                color=color,
                markerfacecolor=face,
                markersize=5,
                linestyle="none",
                markeredgewidth=1.2,
            )


def _strengths(picture: Strengths, figure: Any) -> None:
    axes = figure.add_subplot()
    levels = dict(picture.originals)
    for number, (split, points) in enumerate(picture.points):
        if not points:
            continue
        color, hollow = SETS.get(split, svg.QUIET), number == 0
        xs, ys = [point.strength for point in points], [point.metric for point in points]
        lows, highs = [point.low for point in points], [point.high for point in points]
        axes.fill_between(xs, lows, highs, color=color, alpha=0.13, linewidth=0)
        axes.plot(xs, ys, color=color, linewidth=1.2, label=_short(split))
        if split in levels:
            axes.axhline(levels[split], color=color, linewidth=1, linestyle="--")
        _verdicts(axes, xs, ys, [point.verdict for point in points], hollow)
    axes.set(xlabel=_short(picture.strength), ylabel=_short(picture.metric))
    axes.grid(axis="y")
    axes.legend(loc="best", handlelength=1.4)


def _path(picture: SearchPath, figure: Any) -> None:
    axes = figure.add_subplot()
    for number, (split, steps) in enumerate(picture.steps):
        if not steps:
            continue
        xs, ys = list(range(1, len(steps) + 1)), [strength for strength, _ in steps]
        axes.plot(xs, ys, color=SETS.get(split, svg.QUIET), linewidth=1.2, label=_short(split))
        _verdicts(axes, xs, ys, [verdict for _, verdict in steps], hollow=number == 0)
    longest = max(len(steps) for _, steps in picture.steps)
    low, high = sorted(picture.bounds)
    margin = 0.04 * (high - low)
    axes.set(xlabel="step of the search", ylabel=_short(picture.strength), xlim=(0.5, longest + 0.5))
    if math.isfinite(high - low):  # not in a spoilt file
        axes.set_ylim(low - margin, high + margin)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(axis="y")
    axes.legend(loc="best", handlelength=1.4)


def _lines(picture: Lines, figure: Any) -> None:
    axes = figure.add_subplot()
    colored = 0
    for line in picture.lines:
        color = svg.QUIET if line.quiet else svg.SERIES[colored % len(svg.SERIES)]
        style = line.style if line.quiet else ("solid", "dashed", "dotted")[colored // len(svg.SERIES) % 3]
        colored += not line.quiet
        xs, ys = zip(*line.points, strict=True)
        width = 1.1 if line.quiet else 1.6
        axes.plot(xs, ys, color=color, linestyle=DASHES[style], linewidth=width, label=_short(line.name))
    for row, (place, name) in enumerate(picture.marks):
        axes.axvline(place, color=svg.QUIET, linewidth=1, linestyle="--" if row else "-")
        height = 0.02 + 0.08 * row  # names of neighbors must not overlap
        behind = {"facecolor": svg.PAGE, "edgecolor": "none", "alpha": 0.85, "pad": 0.5}
        axes.annotate(
            f" {_short(name)}", (place, height), xycoords=("data", "axes fraction"), color=svg.QUIET, bbox=behind
        )
    axes.set(xlabel=picture.x, ylabel=picture.y)
    axes.margins(x=0.02)
    axes.set_ylim(bottom=0)
    for name in picture.shares:
        getattr(axes, f"{name}axis").set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(axis="y")
    # An opaque background keeps the legend readable where a curve passes below it.
    axes.legend(loc="best", handlelength=1.6, frameon=True, framealpha=0.85, facecolor=svg.PAGE, edgecolor="none")


def _matrix_height(picture: Matrix) -> float:
    return float(np.clip(1.0 + 0.055 * len(picture.values), 1.9, 6.5))


def _shades(values: Any) -> Any:
    """Shares as an image of one color whose opacity is the share, so that it fits a light and a dark page."""
    image = np.zeros((*values.shape, 4))
    image[..., :3] = np.array([0x2F, 0x8F, 0xD8]) / 255
    image[..., 3] = np.where(values > 0, 0.12 + 0.88 * values, 0.0)
    return image


def _matrix(picture: Matrix, figure: Any) -> None:
    rows, columns = picture.values.shape
    axes = figure.add_subplot()
    axes.imshow(_shades(picture.values), aspect="auto", interpolation="nearest", extent=(0, columns, rows, 0))
    axes.set_yticks(
        [(first + last) / 2 for _, first, last in picture.groups], [_short(name, 18) for name, _, _ in picture.groups]
    )
    for _, _, last in picture.groups[:-1]:
        axes.axhline(last, color=svg.RULE, linewidth=0.8)
    for _, _, last in picture.columns[:-1]:
        axes.axvline(last, color=svg.RULE, linewidth=0.8)
    wide = [(name, first, last) for name, first, last in picture.columns if last - first >= columns / 40]
    axes.set_xticks([(first + last) / 2 for _, first, last in wide], [name for name, _, _ in wide])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(True)
    axes.set(xlabel=picture.x, ylabel=picture.y)


def _layers(picture: Layers, figure: Any) -> None:
    axes = figure.add_subplot()
    count = len(picture.names)
    for row, size in enumerate(picture.sizes):
        if len(picture.shades):
            shades = picture.shades[row][None]
            axes.imshow(_shades(shades), aspect="auto", interpolation="nearest", extent=(0, 1, row + 0.32, row - 0.32))
        axes.plot([0, 1, 1, 0, 0], row + 0.32 * np.array([1, 1, -1, -1, 1]), color=svg.RULE, linewidth=0.8)
        marked = [(neuron + 0.5) / size for layer, neuron, _ in picture.marks if layer == row]
        axes.plot(marked, [row] * len(marked), "^", color=svg.SURVIVED, markersize=6, linestyle="none")
    names = [f"{_short(name, 22)} ({size:,})" for name, size in zip(picture.names, picture.sizes, strict=True)]
    axes.set_yticks(range(count), names)
    axes.set(xlim=(-0.01, 1.01), ylim=(count - 0.5, -0.5), xticks=[], xlabel="neurons, first to last")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def _notice(picture: NoticeCurve, figure: Any) -> None:
    axes = figure.add_subplot()
    columns = picture.columns
    if picture.interval is not None:
        axes.axhspan(*np.clip(picture.interval, 0, 1), color=svg.BAND, linewidth=0, zorder=0)
    if picture.overall is not None:
        axes.axhline(picture.overall, color=svg.INK, linewidth=1.2)
        axes.annotate(
            f" notice rate {percent(picture.overall)}",
            (0, picture.overall),
            xycoords=("axes fraction", "data"),
            va="bottom",
        )
    counted = [(place, column) for place, column in enumerate(columns[: picture.counted]) if column.share is not None]
    axes.plot([place for place, _ in counted], [column.share for _, column in counted], color=svg.KILLED, linewidth=1.4)
    for place, column in enumerate(columns):
        if column.share is None:
            continue
        face = svg.KILLED if place < picture.counted else svg.PAGE
        axes.plot([place, place], [column.low, column.high], color=svg.KILLED, linewidth=3, alpha=0.35)
        axes.plot([place], [column.share], "o", color=svg.KILLED, markerfacecolor=face, markersize=6.5)
    shares = ["none" if each.share is None else f"{each.noticed}/{each.faults}" for each in columns]
    names = [f"{_short(each.name, 12)}\n{share}" for each, share in zip(columns, shares, strict=True)]
    axes.set_xticks(range(len(columns)), names)
    axes.set_yticks(np.linspace(0, 1, 5), ["0%", "25%", "50%", "75%", "100%"])
    axes.set(xlabel=_short(picture.x, 60), ylabel="faults noticed")
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(-0.02, 1.04))
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="y")
