"""How an operator's mutants fare as its strength grows, and how the weakest killed one was searched."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mutiny.core.records import OperatorRecord
from mutiny.core.results import AssessedSubject
from mutiny.reports.formatting import count, number, percent, several, upper_first
from mutiny.reports.page.blocks import Block, Chart, Charts, Fold, Text
from mutiny.reports.page.mutants import on
from mutiny.reports.page.pictures import Path, StrengthPoint, Strengths
from mutiny.verbs.assess.result import Assessment

OPEN = 3
"""So many operators' pictures are shown at once; the others open with a click."""
SETS = ("train", "test")


def strength_curves(result: Assessment) -> Iterator[Block]:
    """Pictures of each operator, those that miss most first."""
    subject = result.subject
    drawn = [record for record in result.operators if record.strength and record.bounds and on(record, "test")]
    if not drawn:
        yield Text("No operator here has a strength that was searched, so there are no curves.", "missing")
        return
    yield Text(
        "First the metric as the fault grows, with the spread over instances; the dashed lines are the originals. Then "
        "the strengths that each search tried. A circle is killed, a triangle survived, a diamond unstable.",
        "aside",
    )
    for place, record in enumerate(sorted(drawn, key=lambda r: (r.score is None, r.score or 0.0))):
        score = "no score" if record.score is None else f"score {percent(record.score)}"
        title = f"{record.label}, {record.title}: {score}"
        yield Fold(title, _pictures(record, subject, place), open=place < OPEN)
    rest = [record.label for record in result.operators if record not in drawn]
    if rest:
        yield Text(f"{several(rest, 12)} {'has' if len(rest) == 1 else 'have'} no strength to draw.", "aside")


def _pictures(record: OperatorRecord, subject: AssessedSubject, place: int) -> tuple[Block, ...]:
    assert record.strength is not None
    assert record.bounds is not None
    blocks: list[Block] = []
    if record.reason:
        blocks.append(Text(f"{upper_first(record.reason)}.", "aside"))
    probes = tuple((split, _probes(record, split)) for split in SETS)
    originals = tuple((split, subject.splits[split].metric_mean) for split in SETS if split in subject.splits)
    steps = tuple(
        (
            split,
            tuple((m.strength, m.verdict.value) for m in on(record, split, searched=True) if m.strength is not None),
        )
        for split in SETS
    )
    told = "; ".join(
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
                    Strengths(record.strength, subject.task.metric, probes, originals),
                    upper_first(f"{subject.task.metric} by {record.strength}"),
                    f"{subject.task.metric} of {record.label} mutants by {record.strength}: {_curve_told(probes)}.",
                ),
                Chart(
                    f"path-{place}",
                    Path(record.strength, record.bounds, steps),
                    f"The search for the mildest {record.strength} that is killed",
                    f"Search of {record.label}: {told}.",
                ),
            )
        ),
    )


def _weakest(record: OperatorRecord, split: str) -> float | None:
    return record.sets[split].weakest_killed if split in record.sets else None


def _probes(record: OperatorRecord, split: str) -> tuple[StrengthPoint, ...]:
    found = []
    for mutant in on(record, split):
        values = [value for row in mutant.metrics for value in row]
        if mutant.strength is None or mutant.metric_mean is None:
            continue
        if not np.isfinite([mutant.metric_mean, *values]).all():
            continue
        low, high = (min(values), max(values)) if values else (mutant.metric_mean,) * 2
        found.append(StrengthPoint(mutant.strength, mutant.metric_mean, low, high, mutant.verdict.value))
    return tuple(sorted(found, key=lambda probe: probe.strength))


def _curve_told(probes: tuple[tuple[str, tuple[StrengthPoint, ...]], ...]) -> str:
    return "; ".join(
        f"on {split} from {points[0].metric:.4g} at {points[0].strength:.3g} to {points[-1].metric:.4g} at "
        f"{points[-1].strength:.3g}"
        for split, points in probes
        if points
    )
