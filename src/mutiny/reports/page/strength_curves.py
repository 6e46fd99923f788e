"""Charts of each operator: the metric by strength, and the search for the weakest killed mutant."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mutiny.core.records import OperatorRecord
from mutiny.core.results import AssessedSubject
from mutiny.reports.formatting import count, number, percent, several, upper_first
from mutiny.reports.page.blocks import Block, Chart, Charts, Fold, Text
from mutiny.reports.page.mutants import on
from mutiny.reports.page.pictures import SearchPath, StrengthPoint, Strengths
from mutiny.verbs.assess.muff.result import MuffAssessment

OPEN = 3
"""Number of operators whose charts are open at first; the others open with a click."""
SETS = ("train", "test")


def strength_curves(result: MuffAssessment) -> Iterator[Block]:
    """Charts of each operator, the lowest score first."""
    subject = result.subject
    drawn = [record for record in result.operators if record.strength and record.bounds and on(record, "test")]
    if not drawn:
        yield Text("No operator here has a strength that was searched, so there are no curves.", "missing")
        return
    yield Text(
        "The first chart shows the metric by strength, with its range over instances; dashed lines are the originals. "
        "The second shows the strengths that each search tried. Circle: killed; triangle: survived; diamond: unstable.",
        "aside",
    )
    for place, record in enumerate(sorted(drawn, key=lambda record: (record.score is None, record.score or 0.0))):
        score = "no score" if record.score is None else f"score {percent(record.score)}"
        title = f"{record.label}, {record.title}: {score}"
        yield Fold(title, _charts(record, subject, place), open=place < OPEN)
    rest = [record.label for record in result.operators if record not in drawn]
    if rest:
        yield Text(f"{several(rest, 12)} {'has' if len(rest) == 1 else 'have'} no strength to draw.", "aside")


def _charts(record: OperatorRecord, subject: AssessedSubject, place: int) -> tuple[Block, ...]:
    assert record.strength is not None
    assert record.bounds is not None
    blocks: list[Block] = []
    if record.reason:
        blocks.append(Text(f"{upper_first(record.reason)}.", "aside"))
    points = tuple((split, _points(record, split)) for split in SETS)
    originals = tuple((split, subject.splits[split].metric_mean) for split in SETS if split in subject.splits)
    steps = tuple(
        (
            split,
            tuple((m.strength, m.verdict.value) for m in on(record, split, searched=True) if m.strength is not None),
        )
        for split in SETS
    )
    searches = "; ".join(
        f"on {split} {count(len(tried), 'strength')}, killed from {number(_weakest(record, split))}"
        for split, tried in steps
        if tried
    )
    return (
        *blocks,
        Charts(
            (
                Chart(
                    f"curve-{place}",
                    Strengths(record.strength, subject.task.metric, points, originals),
                    upper_first(f"{subject.task.metric} by {record.strength}"),
                    f"{subject.task.metric} of {record.label} mutants by {record.strength}: {_curve_label(points)}.",
                ),
                Chart(
                    f"path-{place}",
                    SearchPath(record.strength, record.bounds, steps),
                    f"The search for the mildest {record.strength} that is killed",
                    f"Search of {record.label}: {searches}.",
                ),
            )
        ),
    )


def _weakest(record: OperatorRecord, split: str) -> float | None:
    return record.sets[split].weakest_killed if split in record.sets else None


def _points(record: OperatorRecord, split: str) -> tuple[StrengthPoint, ...]:
    points = []
    for mutant in on(record, split):
        values = [value for row in mutant.metrics for value in row]
        if mutant.strength is None or mutant.metric_mean is None:
            continue
        if not np.isfinite([mutant.metric_mean, *values]).all():
            continue
        low, high = (min(values), max(values)) if values else (mutant.metric_mean,) * 2
        points.append(StrengthPoint(mutant.strength, mutant.metric_mean, low, high, mutant.verdict.value))
    return tuple(sorted(points, key=lambda point: point.strength))


def _curve_label(sets: tuple[tuple[str, tuple[StrengthPoint, ...]], ...]) -> str:
    return "; ".join(
        f"on {split} from {points[0].metric:.4g} at {points[0].strength:.3g} to {points[-1].metric:.4g} at "
        f"{points[-1].strength:.3g}"
        for split, points in sets
        if points
    )
