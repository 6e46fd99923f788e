"""The section of `repair`: what the patch repairs and breaks."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.stats import Rate
from mutiny.reports.formatting import NONE, count, percent
from mutiny.reports.page.blocks import Block, Column, Notes, Section, Table, TableCell, TableRow, Text
from mutiny.reports.repair_text import ANSWERS
from mutiny.verbs.repair.result import Repair

QUESTION = "Can the network be repaired?"


def repair_section(result: Repair) -> Section:
    """Inputs that the patch repairs and breaks, by role."""
    return Section("repair", QUESTION, tuple(_blocks(result)))


def _blocks(result: Repair) -> Iterator[Block]:
    held_out = result.held_out
    yield Text(_answer(result), "answer")
    if held_out.repaired.count + held_out.broken.count:
        low, high = held_out.gain_interval.low, held_out.gain_interval.high
        yield Text(
            f"Gain, fixed minus broken: {held_out.gain:+.2%} of held-out inputs "
            f"(95% interval {low:+.2%} to {high:+.2%})."
        )
    yield _table(result)
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Repair) -> str:
    patch = f"{ANSWERS[result.verdict]}: {result.method} changes {count(result.weights, 'weight')}"
    fixed, broken = _of(result.repair_rate, "failures"), _of(result.break_rate, "passes")
    return f"{patch}; this fixes {fixed} and breaks {broken}."


def _of(rate: Rate, inputs: str) -> str:
    if not rate.total:
        return f"0 of 0 held-out {inputs}"
    ends = f"{percent(rate.interval.low)} to {percent(rate.interval.high)}"
    share = f"{percent(rate.count / rate.total)}, 95% interval {ends}"
    return f"{rate.count:,} of {rate.total:,} held-out {inputs} ({share})"


def _table(result: Repair) -> Table:
    columns = (
        Column("Inputs"),
        Column("Count", True),
        Column("Repaired", True, "targeted failures that are repaired"),
        Column("Broken", True, "inputs that passed before and fail now"),
        Column("Right before", True),
        Column("Right after", True),
    )
    rows = []
    for role, change in result.changes.items():
        shares = [correct / change.inputs if change.inputs else None for correct in (change.before, change.after)]
        rows.append(
            TableRow(
                (
                    TableCell(role),
                    TableCell(f"{change.inputs:,}", float(change.inputs)),
                    *(
                        TableCell(f"{rate.count:,} of {rate.total:,}" if rate.total else NONE, float(rate.count))
                        for rate in (change.repaired, change.broken)
                    ),
                    *(TableCell(percent(share, 2), share) for share in shares),
                )
            )
        )
    return Table("roles", "Effect of the patch by role of the inputs", columns, tuple(rows))
