"""An assessment as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from mutiny.core.printable import printable
from mutiny.core.records import OperatorRecord, Status
from mutiny.core.results import Result
from mutiny.reports.formatting import count, number, percent
from mutiny.reports.notice_sentences import (
    bias_sentence,
    bins_sentence,
    headline,
    named_fault,
    weak_spots,
)
from mutiny.reports.page.missed_faults import missed_faults
from mutiny.reports.plan_sentences import plan_sentence
from mutiny.verbs.assess.bar import BarOutcome, compare_with_bar
from mutiny.verbs.assess.gates.calibration_sentence import calibration_sentence
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.muff.score import missed_bar
from mutiny.verbs.assess.notice import OperatorRate
from mutiny.verbs.assess.result import Assessment

LISTED = 20
"""Number of missed faults of an operator that are listed."""


def junit_xml(result: Assessment | MuffAssessment, fail_under: float | None = None, strict: bool = False) -> str:
    """One test case for the notice rate or the mutation score, and one test case for each operator.

    The first case fails below the bar. A notice rate may also be undecided, see `compare_with_bar`: then the case
    passes with a warning in its output, or fails if ``strict``. An operator without faults or without a score is
    skipped, with the reason; an operator whose jobs failed is an error. The output of a test case lists what the test
    set misses.

    Args:
        result: Result of `mutiny.assess`.
        fail_under: Lowest accepted notice rate or mutation score.
        strict: Whether an undecided notice rate fails.
    """
    if isinstance(result, Assessment):
        result = result.by_headline_judge
        cases = [_rate(result, fail_under, strict), *(_judge(result, record) for record in result.judges)]
        cases += [_operator_rate(result, label, rate) for label, rate in result.notice.operators.items()]
    else:
        cases = [_score(result, fail_under), *(_operator(result, record) for record in result.operators)]
    return suites_xml(result, cases)


def suites_xml(result: Result, cases: Sequence[ElementTree.Element]) -> str:
    """Test cases as a document with one suite.

    Args:
        result: Result of any verb.
        cases: Test cases, from `named_case`.
    """
    root = ElementTree.Element("testsuites")
    root.append(_suite(result, cases))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def plain(text: object) -> str:
    r"""Text in which characters that XML does not allow, or that hide or reorder text, are shown.

    >>> print(plain("a\x00b"))
    a\x00b
    """
    return printable(text)


def _suite(result: Result, cases: Sequence[ElementTree.Element]) -> ElementTree.Element:
    counts = {kind: str(sum(case.find(kind[:-1]) is not None for case in cases)) for kind in ("failures", "errors")}
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    about = {"name": f"mutiny: {plain(result.subject.name)}", "tests": str(len(cases)), **counts, "skipped": skipped}
    timing = {"time": f"{result.seconds:.3f}", "timestamp": result.created[:19]}
    suite = ElementTree.Element("testsuite", about | timing)
    suite.extend(cases)
    return suite


def named_case(result: Result, name: str) -> ElementTree.Element:
    """A test case that passes."""
    return ElementTree.Element("testcase", {"classname": plain(result.subject.name), "name": plain(name)})


def add_outcome(case: ElementTree.Element, outcome: str, message: str, kind: str = "", text: str = "") -> None:
    """Add an outcome other than success to a test case."""
    about = {"message": plain(message), **({"type": kind} if kind else {})}
    ElementTree.SubElement(case, outcome, about).text = plain(text) or None


def with_output(case: ElementTree.Element, lines: Sequence[str]) -> ElementTree.Element:
    """The test case with its output."""
    ElementTree.SubElement(case, "system-out").text = plain("\n".join(filter(None, lines)))
    return case


def _rate(result: Assessment, fail_under: float | None, strict: bool) -> ElementTree.Element:
    case = named_case(result, "notice rate" + ("" if fail_under is None else f" at least {fail_under:.4g}"))
    lines = [headline(result), bias_sentence(result.notice), bins_sentence(result.notice), plan_sentence(result)]
    lines += [f"Weak spot: {spot.sentence}." for spot in weak_spots(result.notice)]
    if fail_under is not None:
        compared = compare_with_bar(result.notice, fail_under)
        if compared.fails(strict):
            add_outcome(case, "failure", compared.sentence, "NoticeRate", headline(result))
        elif compared.outcome is BarOutcome.UNDECIDED:
            lines.insert(0, f"Warning: {compared.sentence}.")
    return with_output(case, [*lines, *result.notes])


def _judge(result: Assessment, record: JudgeRecord) -> ElementTree.Element:
    """What a judge notices; an error if it failed on some faults."""
    case = named_case(result, f"judge {record.judge}")
    if record.broken:
        add_outcome(case, "error", f"it failed on {count(record.broken, 'fault')}", "BrokenJudge")
    lines = [f"notice rate {percent(record.rate)}: {record.noticed} of {record.faults} faults noticed"]
    if record.calibration is not None:
        lines.append(calibration_sentence(record.calibration))
    lines += [f"{each.outcome}: {each.reason}" for each in record.reasons]
    return with_output(case, lines)


def _operator_rate(result: Assessment, label: str, rate: OperatorRate) -> ElementTree.Element:
    case = named_case(result, f"{label} ({rate.title})")
    if rate.failed:
        add_outcome(case, "error", rate.reason, "JobFailed")
    elif rate.rate is None:
        add_outcome(case, "skipped", rate.reason or "no fault that counts")
    missed = [fault for fault in missed_faults(result) if fault.operator == label]
    lines = [f"notice rate {percent(rate.rate)}: {rate.noticed} of {rate.faults} faults noticed"]
    lines += [f"missed: {named_fault(fault, result.notice.unit)}" for fault in missed[:LISTED]]
    if len(missed) > LISTED:
        lines.append(f"missed: {len(missed) - LISTED} more")
    return with_output(case, lines)


def _score(result: MuffAssessment, fail_under: float | None) -> ElementTree.Element:
    score = result.score
    case = named_case(result, "mutation score" + ("" if fail_under is None else f" at least {fail_under:.4g}"))
    value = f"{percent(score.value)}, mean of {score.operators} out of {score.tried} operators"
    if fail_under is not None and (missed := missed_bar(score.value, fail_under)):
        add_outcome(case, "failure", missed, "MutationScore", value)
    return with_output(case, [value, *result.notes])


def _operator(result: MuffAssessment, record: OperatorRecord) -> ElementTree.Element:
    case = named_case(result, f"{record.label} ({record.title})")
    if record.status is Status.FAILED:
        add_outcome(case, "error", record.reason, "JobFailed")
    elif record.status is not Status.SCORED:
        add_outcome(case, "skipped", f"{record.status.value}: {record.reason}")
    lines = [f"score {percent(record.score)}, sensitivity {percent(record.sensitivity)}"]
    lines += [f"train kills it, test does not: {m.operator}" + _at(m.strength) for m in record.survivors()]
    return with_output(case, lines)


def _at(strength: float | None) -> str:
    return "" if strength is None else f" at {number(strength)}"
