"""The notice rate on the page: the first screen, and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mutiny.core.results import Result
from mutiny.reports.formatting import NONE, count, percent
from mutiny.reports.notice_sentences import bins_sentence, phrases
from mutiny.reports.page.advice import CommandParts, placeholders
from mutiny.reports.page.blocks import (
    Block,
    Column,
    Command,
    Notes,
    Section,
    Subsection,
    Table,
    TableCell,
    TableRow,
    Text,
)
from mutiny.reports.page.judges import judges_sections
from mutiny.reports.page.missed_faults import missed_section
from mutiny.reports.page.notice_advice import next_steps
from mutiny.reports.page.notice_chart import notice_chart
from mutiny.reports.page.notice_groups import classes_section, operators_section
from mutiny.reports.plan_sentences import plan_sentence, planned_size, unsure
from mutiny.verbs.assess.notice import PlannedSize
from mutiny.verbs.assess.result import Assessment

QUESTION = "What do the tests notice?"
HOW_MANY = "How many tests would be enough?"
HOW_SURE = "How sure is that?"


def notice_sections(
    result: Assessment, parts: CommandParts, results: Mapping[str, Result] | None = None
) -> list[Section]:
    """The sections of an assessment; the first one is part of the first screen."""
    sections = [operators_section(result), classes_section(result), missed_section(result)]
    first = [first_section(result, parts, results), *judges_sections(result)]
    return [*first, *sections, plan_section(result), certainty_section(result)]


def unassessed_section(parts: CommandParts) -> Section:
    """The command that assesses the tests, for a page without an assessment."""
    command = Command(
        f"{parts.again}{parts.kept}", "Assess the test set", "No result here says how good the tests are."
    )
    explained = [Text(" ".join(sentences), "aside")] if (sentences := placeholders([command])) else []
    return Section("notice", QUESTION, (command, *explained))


def first_section(result: Assessment, parts: CommandParts, results: Mapping[str, Result] | None = None) -> Section:
    """The curve, and what to do next."""
    if result.notice.bins:
        shown: Block = notice_chart(result)
    else:
        shown = Text(
            "There is no curve: what a fault costs must be measured on inputs that are independent of the tests. An "
            "easy test set would make every fault look cheap, and itself good.",
            "missing",
        )
    return Section("notice", QUESTION, (shown, Subsection("What next?", tuple(next_steps(result, parts, results)))))


def plan_section(result: Assessment) -> Section:
    """Sizes of test sets that notice given costs four times in five."""
    notice, test = result.notice, result.subject.splits.get("test")
    sentence = plan_sentence(result) or "Cannot tell: the faults that were tried do not show how many answers change."
    blocks: list[Block] = [Text(sentence, "answer")]
    if notice.reference.kind == "none":
        blocks.append(Text("This assumes that the tests are a random sample of what the network will meet."))
    if notice.plan:
        columns = (
            Column("Cost", True, phrases(notice).heading),
            Column("Inputs", True, "size of a test set like this one that notices such a fault four times in five"),
            Column("95% interval", True),
            Column("More than now", True, "inputs to add to the present test set"),
        )
        now = None if test is None else test.inputs
        rows = tuple(_planned(each, result, now) for each in notice.plan)
        blocks.append(Table("plan", f"Tests needed by cost, in {phrases(notice).heading}", columns, rows))
    return Section("enough", HOW_MANY, tuple(blocks))


def _planned(planned: PlannedSize, result: Assessment, now: int | None) -> TableRow:
    inputs, low, high, said = planned.inputs, planned.low, planned.high, phrases(result.notice)
    more = None if inputs is None or now is None or unsure(planned, result) else max(0, inputs - now)
    interval = NONE
    if low is not None and high is not None:
        interval = f"{low:,} or more" if unsure(planned, result) else f"{low:,} to {high:,}"
    size = "no number" if inputs is None else planned_size(planned, result) or NONE
    return TableRow(
        (
            TableCell(said.number(planned.cost), planned.cost),
            TableCell(size, inputs),
            TableCell(interval, low),
            TableCell(NONE if more is None else f"{more:,}", more),
        )
    )


def certainty_section(result: Assessment) -> Section:
    """Both intervals in a sentence each, false alarms, and notes."""
    blocks: list[Block] = [Text(sentence) for sentence in _certainty(result)]
    if result.notes:
        blocks.append(Notes(tuple(result.notes)))
    return Section("sure", HOW_SURE, tuple(blocks))


def _certainty(result: Assessment) -> Iterator[str]:
    notice = result.notice
    if notice.rate is not None:
        yield bins_sentence(notice)
    if notice.interval is not None:
        others = "other originals trained in the same way" if notice.resampled == "originals" else "other random faults"
        yield (
            f"{percent(notice.interval.low)} to {percent(notice.interval.high)} is the 95% interval for these tests: "
            f"their notice rate on {others}."
        )
    elif notice.rate is not None:
        yield "There is no interval for these tests: all faults are of one random choice on one original."
    other = notice.interval_other_inputs
    if other is not None:
        yield (
            f"{percent(other.low)} to {percent(other.high)} is the 95% interval for other tests: the rate of another "
            "test set of this size, drawn like this one, on such networks."
        )
    elif notice.rate is not None:
        yield "There is no interval for another test set, drawn like this one."
    alarms = notice.false_alarms
    if alarms is not None and alarms.changes:
        yield (
            f"False alarms: the tests notice {alarms.noticed} of {count(alarms.changes, 'harmless change')} of all "
            f"weights, as large as rounding errors ({percent(alarms.rate)}); at most {percent(notice.alpha)} is "
            "expected."
        )
