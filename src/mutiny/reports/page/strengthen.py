"""The section of `strengthen`: which inputs would make the tests stronger."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.formatting import NONE, RANGE, count, percent
from mutiny.reports.page.blocks import Block, Chart, Column, Fold, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.pictures import Line, Lines
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.held_out_scores import OWN, LabelGain
from mutiny.verbs.strengthen.result import Strengthening

QUESTION = "Which inputs would make the tests stronger?"
LISTED = 200
"""Inputs that are written out, at most."""


def strengthen_section(result: Strengthening) -> Section:
    """Effect of the labels, by method and budget, and which inputs to label."""
    return Section("strengthen", QUESTION, tuple(_blocks(result)))


def _blocks(result: Strengthening) -> Iterator[Block]:
    yield Text(_answer(result), "answer")
    if result.measured:
        yield _curves(result)
        yield _table(result)
    if result.predicted:
        told = "; ".join(f"{killed:,} with {_labels(budget)}" for budget, killed in result.predicted.items())
        yield Text(f"Of {_tried(result)}, predicted to be killed: {told}.")
    if len(result.order):
        yield Fold(f"The {count(len(result.order), 'input')} to label, best first", (Text(_listed(result)),))
    if result.beyond:
        made = 0 if result.candidates is None else len(result.candidates)
        yield Text(
            f"{count(len(result.beyond), 'mutant')} of these are predicted to survive every input of the pool"
            + (f"; synthesized for that: {count(made, 'input')}, which a person must label." if made else ".")
        )
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Strengthening) -> str:
    own = [one for one in result.measured if one.method == OWN]
    if own and result.before is not None:
        best = max(own, key=lambda one: one.budget)
        said = f"{_labels(best.budget)} {_change(result.before, best)}{_between(best.score)}"
        others = [
            f"{one.method} {percent(one.score.mean)}"
            for one in result.measured
            if one.budget == best.budget and one.method != OWN
        ]
        said += f"; as many chosen by others: {', '.join(others)}." if others else "."
        return said + _doubt(best.gain)
    if len(result.order):
        return f"{count(len(result.order), 'input')} of the pool are proposed; their effect was not measured."
    if result.subject.pool is None:
        return "Only a smaller test set was requested."
    return "No mutant slips through for which inputs could be chosen."


def _tried(result: Strengthening) -> str:
    """The mutants for which inputs were chosen."""
    tried = result.tried
    one = len(tried) == 1
    which = "" if len(tried) == len(result.survivors) else f" and {'was' if one else 'were'} tried"
    return f"{count(len(tried), 'mutant')} that slip{'s' * one} through{which}"


def _change(before: Repeated, best: LabelGain) -> str:
    """What labels do to the score, as far as the numbers that are shown differ."""
    one, start, end = "s" * (best.budget == 1), percent(before.mean), percent(best.score.mean)
    if start == end:
        return f"leave{one} the score on mutants that nothing was chosen for at {end}"
    verb = "raise" if best.score.mean > before.mean else "lower"
    return f"{verb}{one} the score on mutants that nothing was chosen for from {start} to {end}"


def _doubt(gain: Repeated) -> str:
    """A sentence where the change may be chance."""
    ends = gain.interval
    if ends is None or not ends.low <= 0 <= ends.high:
        return ""
    low, high = (f"{100 * min(1.0, max(-1.0, end)):+.0f}" for end in (ends.low, ends.high))
    return f" The 95% interval of the gain, {low} to {high} points, contains 0: the change may be chance."


def _curves(result: Strengthening) -> Chart:
    assert result.before is not None
    methods = dict.fromkeys(one.method for one in result.measured)
    start = (0.0, result.before.mean)
    lines = tuple(
        Line(
            name,
            (start, *((float(one.budget), one.score.mean) for one in result.measured if one.method == name)),
            "solid" if name == OWN else "dashed",
        )
        for name in methods
    )
    told = "; ".join(f"{line.name} {percent(line.points[-1][1])}" for line in lines)
    most = max(one.budget for one in result.measured)
    return Chart(
        "strengthen-curves",
        Lines(lines, "labels added", "score on held-out mutants", shares="y"),
        "Score of the test set on mutants that nothing was chosen for, as labeled inputs are added.",
        f"Score with {_labels(most)}, from {percent(result.before.mean)}: {told}.",
    )


def _table(result: Strengthening) -> Table:
    columns = (
        Column("Labels", True),
        Column("Chosen by"),
        Column("Score", True, "share killed of fresh mutants that the training set kills, mean over operators"),
        Column("95%", True, "interval over repeats"),
        Column("Gain", True, "points of the score against before"),
        Column("Strengthen ahead by", True, "points, in the same repeats, with the 95% interval"),
    )
    assert result.before is not None
    before = result.before
    rows = [TableRow((TableCell("0", 0.0), TableCell("(before)"), *_score(before), TableCell(NONE), TableCell(NONE)))]
    rows += [
        TableRow(
            (TableCell(f"{one.budget:,}", float(one.budget)), TableCell(one.method), *_score(one.score), *_gain(one))
        )
        for one in result.measured
    ]
    return Table("strengthen-budgets", "Effect of the labels", columns, tuple(rows))


def _score(value: Repeated) -> tuple[TableCell, TableCell]:
    ends = _ends(value)
    return (
        TableCell(percent(value.mean, 1), value.mean, share=min(1.0, max(0.0, value.mean))),
        TableCell(NONE) if ends is None else TableCell(f"{percent(ends[0])}{RANGE}{percent(ends[1])}", ends[0]),
    )


def _gain(one: LabelGain) -> tuple[TableCell, TableCell]:
    gain = TableCell(f"{100 * one.gain.mean:+.1f}", one.gain.mean)
    if one.ahead is None:
        return gain, TableCell(NONE)
    between = one.ahead.interval
    ends = "" if between is None else f" ({100 * max(-1.0, between.low):+.1f} to {100 * min(1.0, between.high):+.1f})"
    return gain, TableCell(f"{100 * one.ahead.mean:+.1f}{ends}", one.ahead.mean)


def _between(value: Repeated) -> str:
    ends = _ends(value)
    return "" if ends is None else f" (95% interval {percent(ends[0])} to {percent(ends[1])})"


def _ends(value: Repeated) -> tuple[float, float] | None:
    """Of the interval; a score lies between 0 and 1, whatever Student says."""
    return None if value.interval is None else (max(0.0, value.interval.low), min(1.0, value.interval.high))


def _labels(budget: int) -> str:
    return count(budget, "label")


def _listed(result: Strengthening) -> str:
    """By name, where the whole pool has names; those of older files are of the chosen inputs alone."""
    pool, names = result.subject.pool, result.names or ()
    known = range(len(names)) if pool is not None and pool.inputs == len(names) else range(0)
    shown = [names[at] if at in known else str(at) for at in result.order[:LISTED].tolist()]
    more = f" and {len(result.order) - LISTED:,} more" if len(result.order) > LISTED else ""
    return f"{', '.join(shown)}{more}."
