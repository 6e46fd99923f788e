"""The section of `attack`: success by distance, and a gallery of inputs that fool the network."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.core.errors import BadInput
from mutiny.reports.attack_text import TITLES
from mutiny.reports.formatting import NONE, count, number, percent
from mutiny.reports.image_grid import SHOWN, images
from mutiny.reports.page.blocks import Block, Column, Gallery, Notes, Photo, Section, Table, TableCell, TableRow, Text
from mutiny.verbs.attack.result import BUDGET, MUTANTS, LevelSummary, Robustness, WaySummary

QUESTION = "How robust is the network?"
LARGEST = 96
"""Pixels of a picture's side; larger ones are thinned out."""


def attack_section(result: Robustness) -> Section:
    """Success rates with intervals, whether mutants helped, and pictures."""
    return Section("attack", QUESTION, tuple(_blocks(result)))


def _blocks(result: Robustness) -> Iterator[Block]:
    for level in result.results:
        yield Text(_answer(level), "answer" if level is result.results[0] else "plain")
    mutants = f", together with {count(len(result.mutants), 'mutant')} ({', '.join(result.mutants)})"
    yield Text(f"Attack: {result.attack}{mutants if result.mutants else ''}.")
    yield _table(result)
    for level in result.results:
        if BUDGET in level.gains:
            yield Text(_gain(level))
    gallery = gallery_of(result)
    if gallery is not None:
        yield gallery
    else:
        yield Text(
            "There are no pictures: the inputs are not images, or this is a JSON result, which has none; "
            "the campaign file has them.",
            "missing",
        )
    if result.notes:
        yield Notes(result.notes)


def _answer(level: LevelSummary) -> str:
    rate = level.ways[MUTANTS].of_correct
    where = "Looking for the nearest" if level.eps is None else f"At a distance of {level.eps:.4g}"
    if not rate.total:
        return f"{where}, nothing can be said: no input was answered correctly before the attack."
    return (
        f"{where}, {rate.count} of {count(rate.total, 'correct answer')} are lost: {percent(rate.count / rate.total)} "
        f"(95% interval {percent(rate.interval.low)} to {percent(rate.interval.high)})."
    )


def _table(result: Robustness) -> Table:
    columns = (
        Column("Distance"),
        Column("Way"),
        Column("Fooled", True, "correct answers that are lost, of all correct ones"),
        Column("Share", True),
        Column("95% interval", True, "of the share (Clopper and Pearson)"),
        Column("L2", True, "mean distance of the inputs that fool it"),
        Column("Passes", True, "forward and backward, one input and model each"),
    )
    rows = []
    for level in result.results:
        where = TableCell("nearest" if level.eps is None else f"{level.eps:.4g}", level.eps)
        rows += [TableRow((where, TableCell(_title(name, result)), *_cells(way))) for name, way in level.ways.items()]
    return Table("attacks", "Attacks by distance and way", columns, tuple(rows))


def _title(name: str, result: Robustness) -> str:
    return "this attack" if name == MUTANTS and not result.mutants else TITLES.get(name, name)


def _cells(way: WaySummary) -> Iterator[TableCell]:
    rate = way.of_correct
    share = rate.count / rate.total if rate.total else None
    yield TableCell(f"{rate.count:,} of {rate.total:,}", float(rate.count))
    yield TableCell(percent(share), share, share=share)
    yield TableCell(f"{percent(rate.interval.low)} to {percent(rate.interval.high)}" if rate.total else NONE)
    distance = way.distance.get("l2")
    yield TableCell(number(distance), distance)
    yield TableCell(f"{way.passes:,}", float(way.passes))


def _gain(level: LevelSummary) -> str:
    gain = level.gains[BUDGET]
    low, high = gain.interval.low, gain.interval.high
    said = "help" if low > 0 else "harm" if high < 0 else "make no clear difference"
    where = "" if level.eps is None else f"At {level.eps:.4g} "
    return (
        f"{where}mutants {said} against the same number of passes: {100 * gain.value:+.1f} points (95% interval "
        f"{100 * low:+.1f} to {100 * high:+.1f})."
    )


def gallery_of(result: Robustness) -> Gallery | None:
    """Some inputs of the level that is shown, lost ones first; ``None`` without images, as in loaded results."""
    if not result.levels:
        return None
    level = result.shown()
    one = level.ways[MUTANTS]
    try:
        before, after = images(result.inputs), images(one.inputs)
    except BadInput:
        return None
    lost = one.fooled & level.correct
    order = np.argsort(~lost, kind="stable")[:SHOWN]
    low, high = float(before.min()), float(before.max())
    most = float(np.abs(after - before).max()) or 1.0
    columns = []
    for at in order:
        label, said = int(result.labels[at]), int(one.said[at])
        what = f"input {int(result.indices[at])} of class {label}"
        became = f"taken for {said}" if one.fooled[at] else "still answered correctly"
        photos = (
            Photo(png_of((before[at] - low) / (high - low or 1.0)), f"{what}, as it was"),
            Photo(png_of((after[at] - low) / (high - low or 1.0)), f"{what}, after the attack, {became}"),
            Photo(png_of(0.5 + 0.5 * (after[at] - before[at]) / most), f"{what}, what was changed"),
        )
        columns.append((f"{label} as {said}" if one.fooled[at] else f"{label}, still right", photos))
    where = "the nearest that were found" if level.eps is None else f"a distance of {level.eps:.4g}"
    caption = f"Inputs before and after the attack, at {where}; below, white is more, black is less, gray is as before."
    return Gallery(("before", "after", "change"), tuple(columns), caption)


def png_of(image: npt.NDArray[Any]) -> bytes:
    """An image with values between 0 and 1, ``(h, w)`` or ``(h, w, 3)``, as the bytes of a PNG file."""
    from PIL import Image

    step = max(1, -(-max(image.shape[:2]) // LARGEST))
    pixels = (np.clip(image[::step, ::step], 0, 1) * 255).round().astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()
