"""An assessment as Markdown, for a pull request or the summary of a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mutiny.core.printable import printable
from mutiny.core.records import OperatorRecord, Status
from mutiny.reports.formatting import NONE, count, percent
from mutiny.reports.judge_sentences import unjudged
from mutiny.reports.muff_text import weakest_text
from mutiny.reports.notice_sentences import (
    bias_sentence,
    bins_sentence,
    headline,
    named_fault,
    phrases,
    weak_spots,
)
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.blocks import Command, Text
from mutiny.reports.page.method import UNKNOWN, assess_command
from mutiny.reports.page.notice_advice import next_steps
from mutiny.reports.plan_sentences import plan_sentence
from mutiny.verbs.assess.against import TestSetComparison
from mutiny.verbs.assess.bar import compare_with_bar
from mutiny.verbs.assess.gates.calibration_sentence import calibration_sentence
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.muff.score import apart
from mutiny.verbs.assess.notice import NoticedBin, OperatorRate
from mutiny.verbs.assess.result import Assessment

NAMED = 5
"""Missed drastic faults that are named one by one."""
Row = Sequence[object]


def markdown_summary(
    result: Assessment | MuffAssessment,
    fail_under: float | None = None,
    *,
    strict: bool = False,
    against: TestSetComparison | None = None,
    parts: CommandParts | None = None,
) -> str:
    """The answer, the tables behind it, what to do, notes, data, seed and versions.

    Args:
        result: Result of `mutiny.assess`.
        fail_under: Lowest accepted notice rate or mutation score.
        strict: Whether an undecided notice rate misses the bar.
        against: Comparison with an earlier test set.
        parts: Parts of commands for this subject; by default, the subject's file is not known.
    """
    if isinstance(result, Assessment):
        result = result.by_headline_judge
        parts = parts or CommandParts(UNKNOWN, assess_command(result))
        paragraphs = _notice_paragraphs(result, fail_under, strict, against, parts)
    else:
        paragraphs = _muff_paragraphs(result, fail_under)
    return "\n\n".join([*paragraphs, *_about(result)]) + "\n"


def _notice_paragraphs(
    result: Assessment,
    fail_under: float | None,
    strict: bool,
    against: TestSetComparison | None,
    parts: CommandParts,
) -> Iterator[str]:
    notice, said = result.notice, phrases(result.notice)
    yield f"**{cell(headline(result))}**"
    yield from map(cell, filter(None, [bias_sentence(notice)]))
    if fail_under is not None:
        yield _bar(result, fail_under, strict)
    if against is not None:
        yield cell(against.sentence)
    yield from map(cell, filter(None, [bins_sentence(notice), plan_sentence(result)]))
    if notice.bins:
        rows = [
            (said.between(each.low, each.high), each.faults, each.noticed, percent(each.rate)) for each in notice.bins
        ]
        yield markdown_table([f"cost in {said.heading}", "faults", "noticed", "rate"], rows)
    if result.judges:
        yield from _judges(result)
    titles = [f"noticed at {said.between(each.low, each.high)}" for each in notice.bins]
    operators = [_operator_row(label, rate) for label, rate in notice.operators.items()]
    yield markdown_table(["operator", "faults", *titles, "rate", ""], operators)
    yield from _missed(result)
    steps = next_steps(result, parts)
    if steps:
        lines = [_step(block) for block in steps if isinstance(block, Command)]
        yield "\n".join(["What to do:", "", *lines])
        yield from (cell(block.text) for block in steps if isinstance(block, Text))


def _judges(result: Assessment) -> Iterator[str]:
    """What each judge notices, and the calibration of gates."""
    said = phrases(result.notice)
    titles = [f"noticed at {said.between(each.low, each.high)}" for each in result.notice.bins]
    rows = [
        (record.judge, *map(_noticed, record.bins), percent(record.rate), _alarms(record)) for record in result.judges
    ]
    yield markdown_table(["judge", *titles, "rate", "false alarms"], rows)
    calibrated = [record.calibration for record in result.judges if record.calibration is not None]
    yield from (cell(calibration_sentence(calibration)) for calibration in calibrated)
    yield from map(cell, unjudged(result))


def _alarms(record: JudgeRecord) -> str:
    alarms = record.false_alarms
    return NONE if alarms is None else f"{alarms.noticed}/{alarms.changes}"


def _bar(result: Assessment, fail_under: float, strict: bool) -> str:
    compared = compare_with_bar(result.notice, fail_under)
    outcome = f"**{compared.outcome.value}**" if compared.fails(strict) else compared.outcome.value
    lenient = "" if compared.fails(strict) == compared.fails(True) else " (it passes without `--strict`)"
    return f"Bar of {percent(fail_under)}: {outcome}{lenient}; {cell(compared.sentence)}."


def _operator_row(label: str, rate: OperatorRate) -> Row:
    why = f"failed: {rate.reason}" if rate.failed else rate.reason
    return label, rate.faults, *map(_noticed, rate.bins), percent(rate.rate), why


def _noticed(each: NoticedBin) -> str:
    return f"{each.noticed}/{each.faults}" if each.faults else NONE


def _missed(result: Assessment) -> Iterator[str]:
    """Weak spots, and drastic faults that are missed."""
    lines = [f"- Weak spot: {cell(spot.sentence)}." for spot in weak_spots(result.notice)]
    drastic = result.missed_drastic()
    if drastic:
        more = f" and {len(drastic) - NAMED} more" if len(drastic) > NAMED else ""
        named = "; ".join(named_fault(fault, result.notice.unit) for fault in drastic[:NAMED])
        lines.append(f"- Drastic, yet missed: {cell(named)}{more}.")
    if lines:
        yield "\n".join(lines)


def _step(command: Command) -> str:
    return f"- {cell(command.title)}. {cell(command.why)}\n  {code(command.line)}"


def _muff_paragraphs(result: MuffAssessment, fail_under: float | None) -> Iterator[str]:
    score = result.score
    value, bar = percent(score.value), percent(fail_under)
    if score.value is not None and fail_under is not None:
        value, bar = apart(score.value, fail_under)
    yield f"## Mutation score of {cell(result.subject.name)}: {value}"
    parts = [f"Mean of {score.operators} out of {score.tried} operators"]
    if score.interval is not None:
        parts.append(f"95% interval {percent(score.interval.low)} to {percent(score.interval.high)}")
    if fail_under is not None:
        met = score.value is not None and score.value >= fail_under
        parts.append(f"the bar of {bar} is {'met' if met else '**missed**'}")
    yield "; ".join(parts) + "."
    titles = ["operator", "train kills from", "test kills from", "score", "sensitivity", ""]
    yield markdown_table(titles, [*map(_muff_row, result.operators)])


def _muff_row(record: OperatorRecord) -> Row:
    weakest = [weakest_text(record, record.sets.get(split)) for split in ("train", "test")]
    why = "" if record.status is Status.SCORED else f"{record.status.value}: {record.reason}"
    return record.label, *weakest, percent(record.score), percent(record.sensitivity), why


def _about(result: Assessment | MuffAssessment) -> Iterator[str]:
    """Notes, subject, seed and versions."""
    subject = result.subject
    if result.notes:
        yield "\n".join(f"- {cell(note)}" for note in result.notes)
    inputs = ", ".join(f"{split} {info.inputs:,}" for split, info in subject.splits.items())
    settings = [f"Seed {result.settings.get('seed', 0)}"]
    if isinstance(result, Assessment):
        settings += [f"random choices per operator and original: {result.settings.get('seeds', '-')}"]
        settings += [f"noticed at p < {result.notice.alpha:g}"]
    settings += [f"{name} {result.versions.get(name, '-')}" for name in ("mutiny", "torch")]
    yield cell(
        f"{subject.name}: {subject.model}, {count(subject.originals, 'original')}, inputs: {inputs}. "
        f"{', '.join(settings)}."
    )


def markdown_table(titles: Sequence[str], rows: Sequence[Row]) -> str:
    """A table.

    Args:
        titles: Titles of the columns.
        rows: Cells of each row.
    """
    lines = [f"| {' | '.join(map(cell, row))} |" for row in (titles, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(titles), *lines[1:]])


def cell(text: object) -> str:
    r"""Text on one line, with the markup of Markdown and HTML escaped.

    >>> cell("a|b <script>\n*c*")
    'a\\|b &lt;script&gt; \\*c\\*'
    """
    plain = printable(" ".join(str(text).split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_[]|":
        plain = plain.replace(mark, f"\\{mark}")
    return plain


def code(text: str) -> str:
    """Text on one line as code, whatever backticks it has.

    >>> code("mutiny report `x`")
    '`` mutiny report `x` ``'
    """
    line = printable(" ".join(text.split()))
    longest = max(map(len, re.findall("`+", line)), default=0)
    marks, space = "`" * (longest + 1), " " if longest else ""
    return f"{marks}{space}{line}{space}{marks}"
