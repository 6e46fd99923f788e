"""Can the network be mended?"""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.page.blocks import Block, Cell, Column, Notes, Row, Section, Table, Text
from mutiny.reports.page.documents import ChangeDocument, RateDocument, Repaired
from mutiny.reports.page.words import NONE, count, percent, upper_first

QUESTION = "Can the network be mended?"


def mending_section(result: Repaired) -> Section:
    """What a repair mends and breaks on inputs that took no part."""
    return Section("repair", QUESTION, tuple(_blocks(result)))


def _blocks(result: Repaired) -> Iterator[Block]:
    held_out = result.splits.get("held-out")
    yield Text(_answer(result, held_out), "answer")
    if held_out is not None and held_out.repair_rate.count + held_out.break_rate.count:
        gain = held_out.gain
        yield Text(
            f"Gain on held-out inputs: {100 * gain.value:+.2f} points of all (95% interval "
            f"{100 * gain.interval.low:+.2f} to {100 * gain.interval.high:+.2f})."
        )
    yield _table(result)
    if result.notes:
        yield Notes(result.notes)


def _answer(result: Repaired, held_out: ChangeDocument | None) -> str:
    said = f"{upper_first(result.verdict)}: {result.method} changes {count(result.patch.weights, 'weight')}"
    if held_out is None:
        return f"{said}."
    return f"{said}; of held-out inputs {_of(held_out.repair_rate)} mended and {_of(held_out.break_rate)} broken."


def _of(rate: RateDocument) -> str:
    if not rate.total:
        return "none of 0 are"
    between = f"{percent(rate.interval.low)} to {percent(rate.interval.high)}"
    return f"{rate.count:,} of {rate.total:,} ({percent(rate.count / rate.total)}, 95% interval {between}) are"


def _table(result: Repaired) -> Table:
    columns = (
        Column("Inputs"),
        Column("How many", True),
        Column("Mended", True, "failures that were to be mended and are"),
        Column("Broken", True, "inputs that passed and fail now"),
        Column("Right before", True),
        Column("Right after", True),
    )
    rows = []
    for role, change in result.splits.items():
        shares = [
            one / change.inputs if change.inputs else None for one in (change.correct_before, change.correct_after)
        ]
        rows.append(Row((
            Cell(role), Cell(f"{change.inputs:,}", float(change.inputs)),
            *(Cell(f"{rate.count:,} of {rate.total:,}" if rate.total else NONE, float(rate.count))
              for rate in (change.repair_rate, change.break_rate)),
            *(Cell(percent(share, 2), share) for share in shares),
        )))  # fmt: skip
    return Table("roles", "What the patch does, by the part that inputs play", columns, tuple(rows))
