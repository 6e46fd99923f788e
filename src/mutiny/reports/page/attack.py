"""The section of `attack`: success rates by distance, and a gallery of inputs before and after."""

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
"""Maximum width and height of an image in pixels; larger ones are subsampled."""


def attack_section(result: Robustness) -> Section:
    """Success rates with intervals, the effect of mutants, and pictures."""
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
    distance = "With the nearest inputs found" if level.eps is None else f"At a distance of {level.eps:.4g}"
    if not rate.total:
        return f"{distance}, the success rate is unknown: no input was answered correctly before the attack."
    ends = f"95% interval {percent(rate.interval.low)} to {percent(rate.interval.high)}"
    lost = f"{rate.count} of {count(rate.total, 'correct answer')} are lost"
    return f"{distance}, {lost}: {percent(rate.count / rate.total)} ({ends})."


def _table(result: Robustness) -> Table:
    columns = (
        Column("Distance"),
        Column("Way"),
        Column("Fooled", True, "correct answers that are lost, of all correct ones"),
        Column("Share", True),
        Column("95% interval", True, "interval of the share (Clopper-Pearson)"),
        Column("L2", True, "mean distance of the inputs that fool the model"),
        Column("Passes", True, "forward and backward passes of one input through one model"),
    )
    rows = []
    for level in result.results:
        distance = TableCell("nearest" if level.eps is None else f"{level.eps:.4g}", level.eps)
        for name, way in level.ways.items():
            rows.append(TableRow((distance, TableCell(_title(name, result)), *_cells(way))))
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
    effect = "help" if low > 0 else "harm" if high < 0 else "make no clear difference"
    distance = "" if level.eps is None else f"At {level.eps:.4g} "
    return (
        f"{distance}mutants {effect} against the same number of passes: {100 * gain.value:+.1f} points (95% interval "
        f"{100 * low:+.1f} to {100 * high:+.1f})."
    )


def gallery_of(result: Robustness) -> Gallery | None:
    """Some inputs of one level, those that fool the model first; ``None`` without images, as in loaded results."""
    if not result.levels:
        return None
    level = result.shown()
    outcome = level.ways[MUTANTS]
    try:
        before, after = images(result.inputs), images(outcome.inputs)
    except BadInput:
        return None
    lost = outcome.fooled & level.correct
    order = np.argsort(~lost, kind="stable")[:SHOWN]
    low, high = float(before.min()), float(before.max())
    most = float(np.abs(after - before).max()) or 1.0
    columns = []
    for row in order:
        label, answer = int(result.labels[row]), int(outcome.said[row])
        name = f"input {int(result.indices[row])} of class {label}"
        effect = f"taken for {answer}" if outcome.fooled[row] else "still answered correctly"
        photos = (
            Photo(png_of((before[row] - low) / (high - low or 1.0)), f"{name}, before the attack"),
            Photo(png_of((after[row] - low) / (high - low or 1.0)), f"{name}, after the attack, {effect}"),
            Photo(png_of(0.5 + 0.5 * (after[row] - before[row]) / most), f"{name}, change"),
        )
        columns.append((f"{label} as {answer}" if outcome.fooled[row] else f"{label}, still right", photos))
    distance = "the nearest inputs found" if level.eps is None else f"a distance of {level.eps:.4g}"
    caption = f"Inputs before and after the attack, at {distance}. In the change, white is more, black is less."
    return Gallery(("before", "after", "change"), tuple(columns), caption)


def png_of(image: npt.NDArray[Any]) -> bytes:
    """An image with values between 0 and 1, ``(h, w)`` or ``(h, w, 3)``, as the bytes of a PNG file."""
    from PIL import Image

    step = max(1, -(-max(image.shape[:2]) // LARGEST))
    pixels = (np.clip(image[::step, ::step], 0, 1) * 255).round().astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=True)
    return file.getvalue()
