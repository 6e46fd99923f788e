"""The section of `locate`: which neurons are to blame."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.reports.formatting import NONE, count, number, percent, several
from mutiny.reports.page.blocks import Block, Chart, Column, Fold, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.pictures import Floats, Layers
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.suspects import Suspect

QUESTION = "Which neurons are to blame?"
SURE = 0.05
MOST = 40
"""Layers in a picture, at most; those without suspects give way."""


def locate_section(result: Location) -> Section:
    """Suspects by layer, what is held against them, and what silencing them does."""
    return Section("suspects", QUESTION, tuple(_blocks(result)))


def _blocks(result: Location) -> Iterator[Block]:
    yield Text(_answer(result), "answer")
    if result.suspects:
        yield _map(result)
        yield _table("neurons", f"The {count(len(result.suspects), 'suspect')} by {result.measure}", result.suspects)
    if result.ablation is not None:
        yield Text(_silenced(result.ablation, len(result.suspects)))
    for name, some in result.by_class.items():
        if some:
            yield Fold(f"Class {name}", (_table(f"neurons-{name}", f"Suspects of class {name}", some),))
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Location) -> str:
    total = result.failing + result.passing
    failed = f"{result.failing:,} of {count(total, 'input')} fail"
    if not result.suspects:
        return f"{failed}; no suspect among {count(result.subject.neurons, 'hidden neuron')}."
    sure = sum(one.q_value <= SURE for one in result.suspects)
    layers = several([*dict.fromkeys(one.layer for one in result.suspects)])
    clear = "none of them beyond chance" if not sure else f"{sure} of them beyond chance (q ≤ {SURE:g})"
    return (
        f"{failed}. Of {count(result.subject.neurons, 'hidden neuron')}, {len(result.suspects)} are listed, in "
        f"{layers}; {clear}."
    )


def _map(result: Location) -> Chart:
    names, sizes = tuple(result.subject.layers), tuple(result.subject.layers.values())
    held = {one.layer for one in result.suspects}
    rows = [at for at, name in enumerate(names) if name in held or len(names) <= MOST]
    place = {names[at]: row for row, at in enumerate(rows)}
    marks = [(place[one.layer], one.neuron, rank) for rank, one in enumerate(result.suspects, 1) if one.layer in place]
    scores = scores_of(result)
    known = len(scores) == len(names)
    shades = tuple(shades_of(scores)[at] for at in rows) if known else ()
    by_layer = ", ".join(f"{name}: {sum(one.layer == name for one in result.suspects)}" for name in place)
    deep = "Darker shades are more suspicious."
    if not known:
        deep = "The shades of all neurons are only in the campaign file."
    return Chart(
        "layers",
        Layers(tuple(names[at] for at in rows), tuple(sizes[at] for at in rows), shades, tuple(marks)),
        f"Neurons by layer; triangles are the suspects. {deep}",
        f"Suspects by layer, {by_layer}.",
        wide=True,
    )


def scores_of(result: Location) -> tuple[Floats, ...]:
    """Scores of all neurons, one array per layer; empty if loaded from JSON, or for a measure of the user's own."""
    spectrum, label = result.spectrum, result.settings.get("label")
    try:
        measure = as_measure(result.measure)
    except BadInput:
        return ()
    if spectrum is None or not spectrum.failing(label):
        return ()
    scores = measure(spectrum.counts(label, bool(result.settings.get("silent"))))
    return tuple(scores[spectrum.depth == depth] for depth in range(len(spectrum.layers)))


def shades_of(scores: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Scores between 0, the least of all, and 1, the most; what is infinite is the most."""
    every = np.concatenate(scores) if scores else np.empty(0)
    finite = every[np.isfinite(every)]
    if not len(finite):
        return tuple(np.isposinf(each).astype(np.float64) for each in scores)
    low, high = float(finite.min()), float(finite.max())
    span = high - low or 1.0
    return tuple(np.clip((np.nan_to_num(each, nan=low, posinf=high, neginf=low) - low) / span, 0, 1) for each in scores)


def _table(name: str, caption: str, suspects: tuple[Suspect, ...]) -> Table:
    columns = (
        Column("Neuron"),
        Column("Score", True, "of the measure; high for neurons whose activity follows the failures"),
        Column("On failures", True, "share of the failing inputs on which it is active"),
        Column("On passes", True, "share of the passing inputs on which it is active"),
        Column("q", True, "expected share of false suspects among neurons with at most this q"),
    )
    rows = [
        TableRow(
            (
                TableCell(f"{one.layer}[{one.neuron}]"),
                TableCell("infinite", None) if math.isinf(one.score) else TableCell(number(one.score), one.score),
                TableCell(percent(one.on_failures), one.on_failures, share=one.on_failures),
                TableCell(
                    NONE if one.on_passes is None else percent(one.on_passes), one.on_passes, share=one.on_passes
                ),
                TableCell(f"{one.q_value:.2g}", one.q_value),
            )
        )
        for one in suspects
    ]
    return Table(name, caption, columns, tuple(rows))


def _silenced(found: Ablation, suspects: int) -> str:
    who = f"the {suspects} suspects" if suspects > 1 else "the suspect"
    said = (
        f"Silencing {who} mends {found.suspects.mended:,} of {count(found.failing, 'failure')} and breaks "
        f"{found.suspects.broken:,} of {count(found.passing, 'pass', 'passes')}."
    )
    if not found.random:
        return said
    mended, broken = (np.mean([getattr(one, name) for one in found.random]) for name in ("mended", "broken"))
    return (
        f"{said} {count(len(found.random), 'random draw')} of as many others of those layers: {mended:.1f} mended on "
        f"average (p {found.p_mended:.2g}), {broken:.1f} broken (p {found.p_broken:.2g})."
    )
