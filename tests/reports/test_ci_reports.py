"""JUnit XML and Markdown: what they say is what the assessment found, whatever the names are."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

import toys
from mutiny import Search, assess
from mutiny.core.records import Status, Verdict
from mutiny.reports.junit import junit_xml
from mutiny.reports.markdown import cell, markdown_summary

NASTY = "a|b <script>alert(1)</script>\x00 *c* \ud7ff"


@pytest.fixture(scope="module")
def result():
    """One operator with a score, one that does not apply."""
    return assess(toys.blob_subject(), "NI(ratio=0.9),RCD", search=Search(precision=0.2), method="muff")


def parsed(text):
    return ElementTree.fromstring(text.split("?>", 1)[1])


def test_one_case_per_operator_and_one_for_the_score(result):
    (suite,) = parsed(junit_xml(result))
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "mutation score",
        *(f"{record.label} ({record.title})" for record in result.operators),
    ]
    assert suite.get("tests") == str(len(cases))
    skipped = [record for record in result.operators if record.status is not Status.SCORED]
    assert suite.get("skipped") == str(len(skipped)) == str(len(suite.findall("testcase/skipped")))
    assert suite.get("failures") == suite.get("errors") == "0"


@pytest.mark.parametrize("away", [-0.01, 0.0, 0.01])
def test_the_bar(result, away):
    value = result.score.value
    bar = min(1.0, max(0.0, value + away))
    (suite,) = parsed(junit_xml(result, bar))
    assert suite.get("failures") == str(int(value < bar)) == str(len(suite.findall("testcase/failure")))
    assert ("missed" in markdown_summary(result, bar)) == (value < bar)
    assert ("is met" in markdown_summary(result, bar)) == (value >= bar)


def test_no_score_misses_every_bar(result):
    none = replace(result, score=replace(result.score, value=None, interval=None))
    assert parsed(junit_xml(none, 0.0))[0].get("failures") == "1"
    assert "missed" in markdown_summary(none, 0.0)


def test_a_score_just_below_the_bar_looks_like_it(result):
    just = replace(result, score=replace(result.score, value=0.804999))
    (suite,) = parsed(junit_xml(just, 0.805))
    assert suite.find("testcase").get("name") == "mutation score at least 0.805"
    assert suite.find("testcase/failure").get("message") == "the score is below the bar: 80.4999% < 80.5000%"


def test_configurations_are_counted(result):
    scored = result.operators[0]
    sets = {name: replace(one, killed=2, survived=1, unstable=1) for name, one in scored.sets.items()}
    several = replace(scored, strength=None, sets=sets)
    assert f"| {cell(several.label)} | 2/4 | 2/4 |" in markdown_summary(replace(result, operators=(several,)))


def test_a_failed_operator_is_an_error(result):
    broken = replace(result.operators[0], status=Status.FAILED, reason="the worker died 3 times")
    (suite,) = parsed(junit_xml(replace(result, operators=(broken,))))
    assert suite.get("errors") == "1"
    assert suite.find("testcase/error").get("message") == "the worker died 3 times"


def test_mutants_that_only_train_kills_are_listed(result):
    record = result.operators[0]
    killed = {(m.operator, m.strength) for m in record.mutants if (m.guiding_set, m.verdict) == ("train", "killed")}
    spared = [
        m
        for m in record.mutants
        if m.guiding_set == "test" and m.verdict is Verdict.SURVIVED and (m.operator, m.strength) in killed
    ]
    (suite,) = parsed(junit_xml(result))
    said = suite.findall("testcase")[1].findtext("system-out")
    assert said.count("test does not") == len(spared)


def test_names_do_no_harm(result):
    named = replace(result, subject=replace(result.subject, name=NASTY, model=NASTY), notes=(NASTY,))
    (suite,) = parsed(junit_xml(named))
    assert suite.get("name") == "mutiny: a|b <script>alert(1)</script>\\x00 *c* \ud7ff"
    assert "<script>" not in markdown_summary(named)


def test_the_table_has_as_many_cells_in_every_row(result):
    odd = replace(result.operators[0], label="NEB(a|b)", status=Status.INVALID, reason="x | y\nz")
    rows = [
        line
        for line in markdown_summary(replace(result, operators=(odd, *result.operators))).splitlines()
        if "|" in line
    ]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    assert len(rows) == 2 + 1 + len(result.operators)


def test_cells_stay_on_one_line():
    assert cell("a\nb\tc") == "a b c"
