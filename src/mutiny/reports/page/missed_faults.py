"""The section about faults that the test set does not notice, the costliest first."""

from __future__ import annotations

from mutiny.core.records import FaultRecord
from mutiny.reports.formatting import NONE, count, number, p_value, percent
from mutiny.reports.notice_sentences import phrases
from mutiny.reports.page.blocks import Block, Column, Section, Table, TableCell, TableRow, Text
from mutiny.verbs.assess.result import Assessment

QUESTION = "Which faults are missed?"
SHOWN = 25
"""Number of faults in the table."""


def missed_section(result: Assessment) -> Section:
    """Drastic faults that are missed, then the costliest of the others that count."""
    notice, missed = result.notice, missed_faults(result)
    blocks: list[Block] = [Text(_answer(result, missed), "answer")]
    if missed:
        columns = (
            Column("Fault", hint="operator with all parameters, as mutiny.mutants reads it"),
            Column("Cost", True, f"{phrases(notice).heading}, on inputs that are independent of the tests"),
            Column("Original", True, "number of the original, from 1"),
            Column("Choice", True, "number of the random choice of weights, neurons or layers, from 1"),
            Column("p", True, f"p-value of the paired test on the tests; below {notice.alpha:g}, a fault is noticed"),
            Column("Hits", hint="class that bears at least half of the cost"),
        )
        caption = "Missed faults" if len(missed) <= SHOWN else f"The {SHOWN} costliest missed faults"
        blocks.append(Table("missed", caption, columns, tuple(_row(fault) for fault in missed[:SHOWN])))
        if len(missed) > SHOWN:
            blocks.append(Text(f"{count(len(missed) - SHOWN, 'cheaper fault')} are in the JSON result.", "aside"))
    return Section("missed-faults", QUESTION, tuple(blocks))


def missed_faults(result: Assessment) -> list[FaultRecord]:
    """Missed faults that cost at least as much as the cheapest bin, the costliest first; none without a notice rate."""
    bins = result.notice.bins
    if result.notice.rate is None or not bins:
        return []
    missed = [fault for fault in result.faults if fault.cost >= bins[0].low and not fault.noticed]
    return sorted(missed, key=lambda fault: -fault.cost)


def _answer(result: Assessment, missed: list[FaultRecord]) -> str:
    notice, drastic = result.notice, result.missed_drastic()
    if notice.rate is None or not notice.bins:
        return "Unknown: there is no notice rate, so no fault can be called missed."
    if not missed:
        return "None of those that were tried: the tests notice every fault that costs something."
    sentences, said = [], phrases(notice)
    if drastic:
        costs = said.cost_at_least(notice.bins[-1].high, one=len(drastic) == 1)
        sentences.append(
            f"{count(len(drastic), 'drastic fault')} that {costs} {_are(len(drastic))} missed; any test set should "
            f"notice {'it' if len(drastic) == 1 else 'them'}."
        )
    others = len(missed) - len(drastic)
    if others:
        costs = said.cost(said.between(notice.bins[0].low, notice.bins[-1].high))
        share = f", {percent(others / notice.faults)}" if notice.faults >= others else ""
        sentences.append(f"{others:,} of {count(notice.faults, 'fault')} that {costs} {_are(others)} missed{share}.")
    return " ".join(sentences)


def _are(faults: int) -> str:
    return "is" if faults == 1 else "are"


def _row(fault: FaultRecord) -> TableRow:
    return TableRow(
        (
            TableCell(fault.configuration or fault.operator),
            TableCell(number(fault.cost), fault.cost),
            TableCell(f"{fault.original + 1}", float(fault.original)),
            TableCell(f"{fault.seed + 1}", float(fault.seed)),
            TableCell(p_value(fault.p_value), fault.p_value),
            TableCell(NONE if fault.hits is None else f"class {fault.hits}"),
        )
    )
