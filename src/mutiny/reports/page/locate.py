"""The section of `locate`: which neurons are to blame."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.reports.formatting import count, number, percent, several
from mutiny.reports.locate_text import random_draws
from mutiny.reports.page.blocks import Block, Chart, Column, Fold, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.pictures import Floats, Layers
from mutiny.verbs.locate.ablation import Ablation
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.suspects import Suspect

QUESTION = "Which neurons are to blame?"
SIGNIFICANT = 0.05
"""Largest q-value of a suspect that is called beyond chance."""
MOST = 40
"""Maximum number of layers in a chart; with more, only layers with suspects are shown."""


def locate_section(result: Location) -> Section:
    """Suspects by layer, their scores, and the effect of silencing them."""
    return Section("suspects", QUESTION, tuple(_blocks(result)))


def _blocks(result: Location) -> Iterator[Block]:
    yield Text(_answer(result), "answer")
    if result.suspects:
        yield _map(result)
        yield _table("neurons", f"The {count(len(result.suspects), 'suspect')} by {result.measure}", result.suspects)
    if result.ablation is not None:
        yield Text(_silenced(result.ablation, len(result.suspects)))
    for name, suspects in result.by_class.items():
        if suspects:
            yield Fold(f"Class {name}", (_table(f"neurons-{name}", f"Suspects of class {name}", suspects),))
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Location) -> str:
    total = result.failing + result.passing
    failed = f"{result.failing:,} of {count(total, 'input')} fail"
    if not result.suspects:
        return f"{failed}; no suspect among {count(result.subject.neurons, 'hidden neuron')}."
    significant = sum(suspect.q_value <= SIGNIFICANT for suspect in result.suspects)
    layers = several([*dict.fromkeys(suspect.layer for suspect in result.suspects)])
    beyond = f"{significant} of them beyond chance (q ≤ {SIGNIFICANT:g})"
    beyond = beyond if significant else "none of them beyond chance"
    return (
        f"{failed}. Of {count(result.subject.neurons, 'hidden neuron')}, {len(result.suspects)} are listed, in "
        f"{layers}; {beyond}."
    )


def _map(result: Location) -> Chart:
    names, sizes = tuple(result.subject.layers), tuple(result.subject.layers.values())
    suspicious = {suspect.layer for suspect in result.suspects}
    shown = [depth for depth, name in enumerate(names) if name in suspicious or len(names) <= MOST]
    rows = {names[depth]: row for row, depth in enumerate(shown)}
    marks = [
        (rows[suspect.layer], suspect.neuron, rank)
        for rank, suspect in enumerate(result.suspects, 1)
        if suspect.layer in rows
    ]
    scores = scores_of(result)
    known = len(scores) == len(names)
    shades = tuple(shades_of(scores)[depth] for depth in shown) if known else ()
    by_layer = ", ".join(f"{name}: {sum(suspect.layer == name for suspect in result.suspects)}" for name in rows)
    legend = "Darker shades are more suspicious."
    if not known:
        legend = "The scores of all neurons are only in the campaign file."
    return Chart(
        "layers",
        Layers(tuple(names[depth] for depth in shown), tuple(sizes[depth] for depth in shown), shades, tuple(marks)),
        f"Neurons by layer; triangles are the suspects. {legend}",
        f"Suspects by layer, {by_layer}.",
        wide=True,
    )


def scores_of(result: Location) -> tuple[Floats, ...]:
    """Scores of all neurons, one array per layer; empty if loaded from JSON, or if the user wrote the measure."""
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
    """Scores scaled to the range from 0 (lowest of all layers) to 1 (highest, or infinite)."""
    together = np.concatenate(scores) if scores else np.empty(0)
    finite = together[np.isfinite(together)]
    if not len(finite):
        return tuple(np.isposinf(layer).astype(np.float64) for layer in scores)
    low, high = float(finite.min()), float(finite.max())
    span = high - low or 1.0
    bounded = (np.nan_to_num(layer, nan=low, posinf=high, neginf=low) for layer in scores)
    return tuple(np.clip((layer - low) / span, 0, 1) for layer in bounded)


def _table(name: str, caption: str, suspects: tuple[Suspect, ...]) -> Table:
    columns = (
        Column("Neuron"),
        Column("Score", True, "of the measure; high for neurons whose activity follows the failures"),
        Column("On failures", True, "share of the failing inputs on which it is active"),
        Column("On passes", True, "share of the passing inputs on which it is active"),
        Column("q", True, "false discovery rate if all neurons up to this q are called suspects"),
    )
    rows = [
        TableRow(
            (
                TableCell(f"{suspect.layer}[{suspect.neuron}]"),
                _score(suspect.score),
                TableCell(percent(suspect.on_failures), suspect.on_failures, share=suspect.on_failures),
                TableCell(percent(suspect.on_passes), suspect.on_passes, share=suspect.on_passes),
                TableCell(f"{suspect.q_value:.2g}", suspect.q_value),
            )
        )
        for suspect in suspects
    ]
    return Table(name, caption, columns, tuple(rows))


def _score(score: float) -> TableCell:
    return TableCell("infinite", None) if math.isinf(score) else TableCell(number(score), score)


def _silenced(ablation: Ablation, suspects: int) -> str:
    silenced = f"the {suspects} suspects" if suspects > 1 else "the suspect"
    effect = (
        f"Silencing {silenced} fixes {ablation.suspects.mended:,} of {count(ablation.failing, 'failure')} and breaks "
        f"{ablation.suspects.broken:,} of {count(ablation.passing, 'pass', 'passes')}."
    )
    if not ablation.random:
        return effect
    fixed, broken = (np.mean([getattr(draw, name) for draw in ablation.random]) for name in ("mended", "broken"))
    return (
        f"{effect} {random_draws(suspects, len(ablation.random))}: fixes {fixed:.1f} on average "
        f"(p {ablation.p_mended:.2g}), breaks {broken:.1f} (p {ablation.p_broken:.2g})."
    )
