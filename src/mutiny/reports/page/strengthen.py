"""The section of `strengthen`: which inputs would make the tests stronger, and which tests can go."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.formatting import NONE, count, index_list, percent
from mutiny.reports.page.blocks import (
    Block,
    Chart,
    Column,
    Fold,
    Notes,
    Section,
    Subsection,
    Table,
    TableCell,
    TableRow,
    Text,
)
from mutiny.reports.page.pictures import Line, Lines
from mutiny.reports.strengthen_sentences import headline, points, smaller
from mutiny.verbs.strengthen.held_out import OWN, LabelGain, RateChange
from mutiny.verbs.strengthen.result import Strengthening

QUESTION = "Which inputs would make the tests stronger?"
LISTED = 200
"""Maximum number of inputs to list."""
SEARCHED = (
    "Inputs whose answer no fault changed are left out, every input whose wrong answer a fault repairs is kept, and "
    "the others were found by a search; a smaller set may exist."
)


def strengthen_section(result: Strengthening) -> Section:
    """Effect of the labels by method and budget, the inputs to label, and a smaller test set."""
    return Section("strengthen", QUESTION, tuple(_blocks(result)))


def _blocks(result: Strengthening) -> Iterator[Block]:
    yield Text(headline(result), "answer")
    if result.measured:
        yield _curves(result)
        yield _table(result)
    if result.predicted:
        rates = "; ".join(f"{percent(rate)} with {_labels(budget)}" for budget, rate in result.predicted.items())
        yield Text(f"Predicted without labels of the pool: {rates}.")
    if len(result.order):
        yield Fold(f"The {count(len(result.order), 'input')} to label, best first", (Text(_listed(result)),))
    if result.beyond:
        synthesized = 0 if result.candidates is None else len(result.candidates)
        yield Text(
            f"{count(len(result.beyond), 'fault')} that the tests miss cannot be noticed with this pool and budget, as "
            "far as is predicted"
            + (f"; {count(synthesized, 'input')} synthesized for them must be labeled." if synthesized else ".")
        )
    if result.subset is not None:
        indices = Fold("Their indices", (Text(index_list(result.subset.indices.tolist())),))
        yield Subsection("A smaller test set", (Text(f"{smaller(result)} {SEARCHED}"), indices))
    if result.notes:
        yield Notes(result.notes)


def _curves(result: Strengthening) -> Chart:
    assert result.before is not None
    methods = dict.fromkeys(gain.method for gain in result.measured)
    start = (0.0, result.before.rate)
    lines = tuple(
        Line(
            name,
            (start, *((float(gain.budget), gain.rate) for gain in result.measured if gain.method == name)),
            "solid" if name == OWN else "dashed",
        )
        for name in methods
    )
    rates = "; ".join(f"{line.name} {percent(line.points[-1][1])}" for line in lines)
    most = max(gain.budget for gain in result.measured)
    return Chart(
        "strengthen-curves",
        Lines(lines, "labels added", "notice rate on held-out faults", shares="y"),
        "Notice rate of the test set on held-out faults, as labeled inputs are added.",
        f"Notice rate with {_labels(most)}, from {percent(result.before.rate)}: {rates}.",
    )


def _table(result: Strengthening) -> Table:
    columns = (
        Column("Labels", True),
        Column("Chosen by"),
        Column("Notice rate", True, "share of held-out faults that are noticed, mean over bins of cost"),
        Column("Gain", True, "points of the notice rate against before, with the 95% interval"),
        Column("Strengthen ahead by", True, "points, on the same faults, with the 95% interval"),
    )
    assert result.before is not None
    rows = [TableRow((TableCell("0", 0.0), TableCell("(before)"), _rate(result.before.rate), *[TableCell(NONE)] * 2))]
    rows += [TableRow(tuple(_cells(gain))) for gain in result.measured]
    return Table("strengthen-budgets", "Effect of the labels", columns, tuple(rows))


def _cells(gain: LabelGain) -> Iterator[TableCell]:
    yield TableCell(f"{gain.budget:,}", float(gain.budget))
    yield TableCell(gain.method)
    yield _rate(gain.rate)
    yield _change(gain.gain)
    yield TableCell(NONE) if gain.ahead is None else _change(gain.ahead)


def _rate(rate: float) -> TableCell:
    return TableCell(percent(rate, 1), rate, share=min(1.0, max(0.0, rate)))


def _change(change: RateChange) -> TableCell:
    ends = "" if change.interval is None else f" ({points(change.interval.low)} to {points(change.interval.high)})"
    return TableCell(f"{points(change.value)}{ends}", change.value)


def _labels(budget: int) -> str:
    return count(budget, "label")


def _listed(result: Strengthening) -> str:
    """The inputs to label, by name if the whole pool has names; older files have names of chosen inputs only."""
    pool, names = result.subject.pool, result.names or ()
    known = range(len(names)) if pool is not None and pool.inputs == len(names) else range(0)
    shown = [names[index] if index in known else str(index) for index in result.order[:LISTED].tolist()]
    more = f" and {len(result.order) - LISTED:,} more" if len(result.order) > LISTED else ""
    return f"{', '.join(shown)}{more}."
