"""An assessment as JUnit XML, which CI servers show as tests."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from mutiny.core.records import OperatorRecord, Status
from mutiny.reports.assess_text import number, percent
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.assess.score import missed_bar

FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML does not allow."""


def junit_xml(result: Assessment, fail_under: float | None = None) -> str:
    """One test case for the score, which fails below the bar, and one test case for each operator.

    An operator without a score is skipped, with the reason; an operator whose jobs failed is an error. The output of a
    test case lists the mutants that the training set kills and the test set does not.

    Args:
        result: Result of `mutiny.assess`.
        fail_under: Lowest accepted score.
    """
    cases = [_score(result, fail_under), *(_operator(result, record) for record in result.operators)]
    counts = {kind: str(sum(case.find(kind[:-1]) is not None for case in cases)) for kind in ("failures", "errors")}
    skipped = str(sum(case.find("skipped") is not None for case in cases))
    about = {"name": f"mutiny: {plain(result.subject.name)}", "tests": str(len(cases)), **counts, "skipped": skipped}
    timing = {"time": f"{result.seconds:.3f}", "timestamp": result.created[:19]}
    suite = ElementTree.Element("testsuite", about | timing)
    suite.extend(cases)
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def plain(text: object) -> str:
    r"""Text in which characters that XML does not allow are replaced.

    >>> plain("a\x00b")
    'a?b'
    """
    return FORBIDDEN.sub("?", str(text))


def _case(result: Assessment, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", {"classname": plain(result.subject.name), "name": plain(name)})


def _score(result: Assessment, fail_under: float | None) -> ElementTree.Element:
    score = result.score
    case = _case(result, "mutation score" + ("" if fail_under is None else f" at least {fail_under:.4g}"))
    value = f"{percent(score.value)}, mean of {score.operators} out of {score.tried} operators"
    if fail_under is not None and (missed := missed_bar(score.value, fail_under)):
        ElementTree.SubElement(case, "failure", {"message": missed, "type": "MutationScore"}).text = value
    ElementTree.SubElement(case, "system-out").text = plain("\n".join([value, *result.notes]))
    return case


def _operator(result: Assessment, record: OperatorRecord) -> ElementTree.Element:
    case = _case(result, f"{record.label} ({record.title})")
    if record.status is Status.FAILED:
        ElementTree.SubElement(case, "error", {"message": plain(record.reason), "type": "JobFailed"})
    elif record.status is not Status.SCORED:
        ElementTree.SubElement(case, "skipped", {"message": plain(f"{record.status.value}: {record.reason}")})
    lines = [f"score {percent(record.score)}, sensitivity {percent(record.sensitivity)}"]
    lines += [f"train kills it, test does not: {m.operator}" + _at(m.strength) for m in record.survivors()]
    ElementTree.SubElement(case, "system-out").text = plain("\n".join(lines))
    return case


def _at(strength: float | None) -> str:
    return "" if strength is None else f" at {number(strength)}"
