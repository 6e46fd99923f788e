"""The section of `compare`: did the change make the network worse?"""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.compare_text import changed_groups, difference_text, how, mean_text
from mutiny.reports.formatting import NONE, count, p_value
from mutiny.reports.page.blocks import Block, Column, Facts, Fold, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.verbs.compare.changes import ChangedInput, ConfusionChange
from mutiny.verbs.compare.groups import GroupChange
from mutiny.verbs.compare.result import Comparison
from mutiny.verbs.compare.sentences import POINTS

QUESTION = "Did the change make the network worse?"


def compare_section(result: Comparison) -> Section:
    """The decision, both sides, the classes and slices that changed, inputs and confusions."""
    return Section("compare", QUESTION, tuple(_blocks(result)))


def _blocks(result: Comparison) -> Iterator[Block]:
    yield Text(result.sentence, "answer")
    yield _sides(result)
    yield Text(
        f"How it was decided: {how(result)}. The interval is two-sided at 1 - 2 alpha, so that both agree.", "aside"
    )
    changed = changed_groups(result)
    if changed:
        yield _groups(result, changed)
    elif result.groups:
        yield Text(f"Nothing changed in any of {count(len(result.groups), 'class or slice', 'classes and slices')}.")
    if result.confusions:
        yield _confusions(result.confusions)
    if result.changed:
        yield Fold(f"The {count(len(result.changed), 'input')} that changed most", (_inputs(result),))
    if result.notes:
        yield Notes(result.notes)


def _sides(result: Comparison) -> Facts:
    subject, means = result.subject, result.means
    metric = "accuracy" if result.unit == POINTS else result.unit
    a = f"{subject.name}, {subject.model}: {metric} {mean_text(means['a'], result)}"
    b = f"{subject.other_name}, {subject.other_model}: {metric} {mean_text(means['b'], result)}"
    flips = result.flips
    worse, better = (
        ("broken", "repaired") if result.unit == POINTS else ("inputs with a worse score", "with a better one")
    )
    pairs = [("A", a), ("B", b), (worse, f"{flips.broken:,}"), (better, f"{flips.repaired:,}")]
    if flips.other is not None:
        pairs.append(("wrong before and after, differently", f"{flips.other:,}"))
    return Facts(tuple(pairs))


def _groups(result: Comparison, changed: list[GroupChange]) -> Table:
    columns = (
        Column("Group"),
        Column("Inputs", True),
        Column("A", True),
        Column("B", True),
        Column("Change", True, f"B minus A, in {result.unit}"),
        Column("Broken", True),
        Column("Repaired", True),
        Column("p adjusted", True, "two-sided p-value, corrected for the number of groups by Holm's method"),
    )
    rows = [
        TableRow(
            (
                TableCell(f"{each.column} {each.group}"),
                TableCell(f"{each.inputs:,}", float(each.inputs)),
                TableCell(mean_text(each.a, result), each.a),
                TableCell(mean_text(each.b, result), each.b),
                TableCell(difference_text(each.difference, result), each.difference),
                TableCell(f"{each.broken:,}", float(each.broken)),
                TableCell(f"{each.repaired:,}", float(each.repaired)),
                TableCell(p_value(each.p_adjusted), each.p_adjusted),
            )
        )
        for each in changed
    ]
    return Table("compare-groups", "Classes and slices that changed", columns, tuple(rows))


def _confusions(confusions: tuple[ConfusionChange, ...]) -> Table:
    columns = (Column("Right answer"), Column("Taken for"), Column("By A", True), Column("By B", True))
    rows = [
        TableRow(
            (TableCell(each.target), TableCell(each.answer), *(TableCell(f"{n:,}", float(n)) for n in (each.a, each.b)))
        )
        for each in confusions
    ]
    return Table("compare-confusions", "Confusions that became more or less frequent", columns, tuple(rows))


def _inputs(result: Comparison) -> Table:
    columns = (Column("Input"), Column("Change"), Column("Before"), Column("After"), Column("Right answer"))
    return Table("compare-inputs", "Inputs that changed most", columns, tuple(map(_input, result.changed)))


def _input(each: ChangedInput) -> TableRow:
    texts = (each.id, each.change, each.before, each.after, NONE if each.target is None else each.target)
    return TableRow(tuple(map(TableCell, texts)))
