"""The page of ``pytest --mutiny``: the matrix of tests and faults, blind spots first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mutiny.reports.formatting import cost, count, percent
from mutiny.reports.notice_sentences import bias_sentence, bins_sentence, useless
from mutiny.reports.page.blocks import Chart, Column, Section, Table, TableCell, TableRow, Text
from mutiny.reports.page.page import Page
from mutiny.reports.page.pictures import Matrix
from mutiny.testing.suite_matrix import CountedTest, counts
from mutiny.testing.suite_records import FaultVerdict, JudgedFault, Reaction, SuiteResult
from mutiny.testing.suite_text import headline, short_names
from mutiny.verbs.assess.cost_phrases import CostPhrases

SYMBOLS = {FaultVerdict.NOTICED: "killed", FaultVerdict.MISSED: "survived", FaultVerdict.UNDECIDED: "unstable"}
"""Verdicts of a page by those of a suite."""


def suite_page(result: SuiteResult) -> Page:
    """The page of a result."""
    rate = result.notice.rate
    table = counts(result.tests, result.faults)
    sections = [_blind_spots(result, table), _tests(result, table)]
    left_out = [test for test in result.tests if test.left_out]
    if left_out:
        names = short_names(result)
        rows = tuple(TableRow((TableCell(names[test.name]), TableCell(test.left_out))) for test in left_out)
        found = Table("left-out", "Tests that cannot judge faults", (Column("test"), Column("reason")), rows)
        sections.append(Section("left-out", "Which tests were left out?", (found,)))
    return Page(
        subject=result.subject.name,
        about=f"{count(len(result.tests), 'test')} of a pytest suite; {count(len(result.faults), 'fault')} tried",
        headline="" if rate is None or useless(result.notice.interval) else percent(rate),
        summary=tuple(filter(None, [headline(result), bins_sentence(result.notice), bias_sentence(result.notice)])),
        sections=tuple(sections),
    )


def _blind_spots(result: SuiteResult, table: Sequence[CountedTest]) -> Section:
    names = short_names(result)
    missed = [tried for tried in result.faults if tried.verdict is not FaultVerdict.NOTICED][::-1]
    answer = f"{count(len(missed), 'fault')} of {len(result.faults)} were not noticed by any test."
    blocks: list[Text | Chart | Table] = [Text(answer if missed else "Every fault was noticed.", "answer")]
    if table and result.faults:
        run = "Every test was run on every fault." if result.full else "The first test that notices ends the run."
        blocks.append(
            Chart(
                "suite-matrix",
                matrix_of(result, [each.name for each in table]),
                f"Tests and faults, by cost; within each cost, faults that no test notices come first. {run}",
                f"Matrix of {len(table)} tests and {len(result.faults)} faults; the tables below have its numbers.",
                wide=True,
            )
        )
    columns = (Column("fault"), Column(f"cost in {result.notice.unit}", True), Column("verdict"), Column("reason"))
    rows = [
        TableRow(
            (
                TableCell(_named(tried)),
                TableCell(cost(tried.fault.cost), tried.fault.cost),
                TableCell(tried.verdict.value, verdict=SYMBOLS[tried.verdict]),
                TableCell("; ".join(f"{names.get(name, name)}: {why}" for name, why in tried.reasons.items())),
            ),
            SYMBOLS[tried.verdict],
        )
        for tried in missed
    ]
    if rows:
        blocks.append(Table("missed-faults", "Faults that no test notices, the costliest first", columns, tuple(rows)))
    return Section("blind-spots", "Which faults do the tests miss?", tuple(blocks))


def _named(tried: JudgedFault) -> str:
    fault = tried.fault
    return fault.operator + ("" if fault.strength is None else f" at {fault.parameter} {fault.strength:.3g}")


def _tests(result: SuiteResult, table: Sequence[CountedTest]) -> Section:
    names = short_names(result)
    columns = [Column("test"), Column("noticed", True), Column("run on", True, "faults on which the test was run")]
    columns.append(Column("by an error", True, "noticed by another exception than that of an assertion"))
    if result.full:
        columns.append(Column("alone", True, "faults that no other test notices"))
        columns.append(Column("small set", hint="one of few tests that together notice the same faults"))
    rows = []
    for each in table:
        noticed = TableCell(str(each.noticed), each.noticed, share=each.noticed / max(1, len(result.faults)))
        cells = [TableCell(names[each.name]), noticed, *(TableCell(str(n), n) for n in (each.run, each.errors))]
        if result.full:
            cells += [TableCell(str(each.alone), each.alone), TableCell("yes" if each.in_small_set else "")]
        rows.append(TableRow(tuple(cells)))
    idle = sum(not each.noticed for each in table)
    which = "noticed nothing" if result.full else "noticed none of the faults that they were run on"
    answer = f"{idle} of {count(len(table), 'test')} {which}."
    return Section(
        "tests", "Which tests notice them?", (Text(answer), Table("tests-table", "Tests", tuple(columns), tuple(rows)))
    )


def matrix_of(result: SuiteResult, tests: Sequence[str]) -> Matrix:
    """Tests by faults: 1 where a test notices a fault; faults by cost, in each bin the missed ones first.

    Args:
        result: Result of a suite.
        tests: Names of the tests, in the order of the rows.
    """
    place, names = {test.name: at for at, test in enumerate(result.tests)}, short_names(result)
    said = CostPhrases(result.notice.unit)
    ordered: list[JudgedFault] = []
    groups: list[tuple[str, int, int]] = []
    for each in result.notice.bins:
        inside = [tried for tried in result.faults if each.low <= tried.fault.cost < each.high]
        inside.sort(key=lambda tried: sum(reaction.notices for reaction in tried.reactions))
        if inside:
            groups.append((said.column(each.low, each.high), len(ordered), len(ordered) + len(inside)))
            ordered += inside
    values = np.array([[_shade(tried.reactions[place[test]]) for tried in ordered] for test in tests], float).reshape(
        len(tests), len(ordered)
    )
    rows = tuple((names[test].removeprefix("test_"), at, at + 1) for at, test in enumerate(tests))
    return Matrix(values, rows, tuple(groups), f"faults, by cost in {result.notice.unit}", "tests")


def _shade(reaction: Reaction) -> float:
    return 1.0 if reaction.notices else 0.0
