"""The section of `repair`: what the patch repairs and breaks."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.stats import Rate
from mutiny.reports.formatting import NONE, count, percent, upper_first
from mutiny.reports.page.blocks import Block, Column, Notes, Section, Table, TableCell, TableRow, Text
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
            f"Gain on held-out inputs: {100 * held_out.gain:+.2f} points of all (95% interval {100 * low:+.2f} to "
            f"{100 * high:+.2f})."
        )
    yield _table(result)
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Repair) -> str:
    patch = f"{upper_first(result.verdict)}: {result.method} changes {count(result.weights, 'weight')}"
    repaired, broken = _of(result.repair_rate), _of(result.break_rate)
    return f"{patch}; of held-out inputs {repaired} repaired and {broken} broken."


def _of(rate: Rate) -> str:
    if not rate.total:
        return "none of 0 are"
    ends = f"{percent(rate.interval.low)} to {percent(rate.interval.high)}"
    return f"{rate.count:,} of {rate.total:,} ({percent(rate.count / rate.total)}, 95% interval {ends}) are"


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
