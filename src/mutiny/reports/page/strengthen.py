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
"""Maximum number of inputs to list."""


def strengthen_section(result: Strengthening) -> Section:
    """Effect of the labels by method and budget, and the inputs to label."""
    return Section("strengthen", QUESTION, tuple(_blocks(result)))


def _blocks(result: Strengthening) -> Iterator[Block]:
    yield Text(_answer(result), "answer")
    if result.measured:
        yield _curves(result)
        yield _table(result)
    if result.predicted:
        kills = "; ".join(f"{killed:,} with {_labels(budget)}" for budget, killed in result.predicted.items())
        yield Text(f"Of {_tried(result)}, predicted to be killed: {kills}.")
    if len(result.order):
        yield Fold(f"The {count(len(result.order), 'input')} to label, best first", (Text(_listed(result)),))
    if result.beyond:
        synthesized = 0 if result.candidates is None else len(result.candidates)
        yield Text(
            f"{count(len(result.beyond), 'mutant')} of these are predicted to survive every input of the pool"
            + (f"; {count(synthesized, 'input')} synthesized for them must be labeled." if synthesized else ".")
        )
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Strengthening) -> str:
    gains = [gain for gain in result.measured if gain.method == OWN]
    if gains and result.before is not None:
        largest = max(gains, key=lambda gain: gain.budget)
        answer = f"{_labels(largest.budget)} {_change(result.before, largest)}{_between(largest.score)}"
        others = [
            f"{gain.method} {percent(gain.score.mean)}"
            for gain in result.measured
            if gain.budget == largest.budget and gain.method != OWN
        ]
        answer += f"; the same number chosen by other methods: {', '.join(others)}." if others else "."
        return answer + _doubt(largest.gain)
    if len(result.order):
        return f"{count(len(result.order), 'input')} of the pool are proposed; their effect was not measured."
    if result.subject.pool is None:
        return "Only a smaller test set was requested."
    return "No mutant slips through for which inputs could be chosen."


def _tried(result: Strengthening) -> str:
    """The mutants for which inputs were chosen."""
    tried = result.tried
    slip, were = ("slips", "was") if len(tried) == 1 else ("slip", "were")
    which = "" if len(tried) == len(result.survivors) else f" and {were} tried"
    return f"{count(len(tried), 'mutant')} that {slip} through{which}"


def _change(before: Repeated, gain: LabelGain) -> str:
    """The effect of labels on the score, in the decimal places that are shown."""
    s, start, end = "s" * (gain.budget == 1), percent(before.mean), percent(gain.score.mean)
    if start == end:
        return f"leave{s} the score on held-out mutants at {end}"
    verb = "raise" if gain.score.mean > before.mean else "lower"
    return f"{verb}{s} the score on held-out mutants from {start} to {end}"


def _doubt(gain: Repeated) -> str:
    """A sentence if the interval of the gain contains 0; otherwise empty."""
    interval = gain.interval
    if interval is None or not interval.low <= 0 <= interval.high:
        return ""
    low, high = (f"{100 * min(1.0, max(-1.0, end)):+.0f}" for end in (interval.low, interval.high))
    return f" The 95% interval of the gain, {low} to {high} points, contains 0: the change may be chance."


def _curves(result: Strengthening) -> Chart:
    assert result.before is not None
    methods = dict.fromkeys(gain.method for gain in result.measured)
    start = (0.0, result.before.mean)
    lines = tuple(
        Line(
            name,
            (start, *((float(gain.budget), gain.score.mean) for gain in result.measured if gain.method == name)),
            "solid" if name == OWN else "dashed",
        )
        for name in methods
    )
    scores = "; ".join(f"{line.name} {percent(line.points[-1][1])}" for line in lines)
    most = max(gain.budget for gain in result.measured)
    return Chart(
        "strengthen-curves",
        Lines(lines, "labels added", "score on held-out mutants", shares="y"),
        "Score of the test set on held-out mutants, as labeled inputs are added.",
        f"Score with {_labels(most)}, from {percent(result.before.mean)}: {scores}.",
    )


def _table(result: Strengthening) -> Table:
    columns = (
        Column("Labels", True),
        Column("Chosen by"),
        Column("Score", True, "share killed of held-out mutants that the training set kills, mean over operators"),
        Column("95%", True, "interval over repeats"),
        Column("Gain", True, "points of the score against before"),
        Column("Strengthen ahead by", True, "points, in the same repeats, with the 95% interval"),
    )
    assert result.before is not None
    before = result.before
    rows = [TableRow((TableCell("0", 0.0), TableCell("(before)"), *_score(before), TableCell(NONE), TableCell(NONE)))]
    rows += [
        TableRow(
            (
                TableCell(f"{gain.budget:,}", float(gain.budget)),
                TableCell(gain.method),
                *_score(gain.score),
                *_gain(gain),
            )
        )
        for gain in result.measured
    ]
    return Table("strengthen-budgets", "Effect of the labels", columns, tuple(rows))


def _score(value: Repeated) -> tuple[TableCell, TableCell]:
    ends = _ends(value)
    return (
        TableCell(percent(value.mean, 1), value.mean, share=min(1.0, max(0.0, value.mean))),
        TableCell(NONE) if ends is None else TableCell(f"{percent(ends[0])}{RANGE}{percent(ends[1])}", ends[0]),
    )


def _gain(gain: LabelGain) -> tuple[TableCell, TableCell]:
    points, ahead = TableCell(f"{100 * gain.gain.mean:+.1f}", gain.gain.mean), gain.ahead
    if ahead is None:
        return points, TableCell(NONE)
    ends = ""
    if ahead.interval is not None:
        low, high = max(-1.0, ahead.interval.low), min(1.0, ahead.interval.high)
        ends = f" ({100 * low:+.1f} to {100 * high:+.1f})"
    return points, TableCell(f"{100 * ahead.mean:+.1f}{ends}", ahead.mean)


def _between(value: Repeated) -> str:
    ends = _ends(value)
    return "" if ends is None else f" (95% interval {percent(ends[0])} to {percent(ends[1])})"


def _ends(value: Repeated) -> tuple[float, float] | None:
    """The ends of the interval; those of Student's t may exceed 0 or 1, so they are cut there."""
    return None if value.interval is None else (max(0.0, value.interval.low), min(1.0, value.interval.high))


def _labels(budget: int) -> str:
    return count(budget, "label")


def _listed(result: Strengthening) -> str:
    """The inputs to label, by name if the whole pool has names; older files have names of chosen inputs only."""
    pool, names = result.subject.pool, result.names or ()
    known = range(len(names)) if pool is not None and pool.inputs == len(names) else range(0)
    shown = [names[index] if index in known else str(index) for index in result.order[:LISTED].tolist()]
    more = f" and {len(result.order) - LISTED:,} more" if len(result.order) > LISTED else ""
    return f"{', '.join(shown)}{more}."
