"""JUnit XML, Markdown and NPZ of a notice rate: what they say is what the assessment found, whatever the names are."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import toys
from mutiny import assess
from mutiny.core.errors import BadInput
from mutiny.core.stats import Interval
from mutiny.reports.formatting import NONE
from mutiny.reports.junit import junit_xml
from mutiny.reports.markdown import code, markdown_summary
from mutiny.reports.notice_sentences import headline
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.result_files import write_ci_reports, write_kills
from mutiny.verbs.assess.against import TestSetComparison
from mutiny.verbs.assess.notice import ReferenceRecord
from reports.page.handmade import fault, rated

NASTY = "a|b <script>alert(1)</script>\x00 *c* `d` \ud7ff"
GOOD = [(0.6, True), (1.5, True), (3.0, True), (5.0, True), (6.0, True)]
BAD = [(0.6, False), (1.5, False), (3.0, False), (5.0, True), (6.0, False), (20.0, False)]
RESULT = rated({"GF": GOOD, "WI": BAD, "LR": []}, reasons={"LR": "no layer keeps the shape"})
COMPARED = TestSetComparison(0.7, 0.6, -0.1, Interval(-0.15, -0.05, 0.95, "jackknife-t"), 120, 2, 14)
STRENGTHEN = "mutiny strengthen mine.py:subject --pool FILE"


def parsed(text):
    return ElementTree.fromstring(text.split("?>", 1)[1])[0]


def between(low, high):
    return replace(RESULT, notice=replace(RESULT.notice, interval=Interval(low, high, 0.95, "jackknife-t")))


def test_one_case_for_the_rate_and_one_per_operator():
    suite = parsed(junit_xml(RESULT))
    names = [case.get("name") for case in suite.findall("testcase")]
    assert names == ["notice rate", "GF (title of GF)", "WI (title of WI)", "LR (title of LR)"]
    assert [suite.get(kind) for kind in ("tests", "failures", "errors", "skipped")] == ["4", "0", "0", "1"]
    assert suite.find("testcase/skipped").get("message") == "no layer keeps the shape"
    assert suite.findtext("testcase/system-out").splitlines()[0] == headline(RESULT)


@pytest.mark.parametrize(
    ("interval", "strict", "fails", "warns"),
    [
        ((0.81, 0.9), False, False, False),
        ((0.81, 0.9), True, False, False),
        ((0.8, 0.9), True, False, False),  # at the bar is not below it
        ((0.6, 0.9), False, False, True),
        ((0.6, 0.9), True, True, False),
        ((0.6, 0.79), False, True, False),
        ((0.6, 0.79), True, True, False),
    ],
)
def test_the_bar_has_three_outcomes(interval, strict, fails, warns):
    result = between(*interval)
    suite = parsed(junit_xml(result, 0.8, strict))
    case = suite.find("testcase")
    assert case.get("name") == "notice rate at least 0.8"
    assert suite.get("failures") == str(int(fails)) == str(len(suite.findall("testcase/failure")))
    assert case.findtext("system-out").startswith("Warning: cannot tell") == warns
    told = markdown_summary(result, 0.8, strict=strict).splitlines()[2]
    assert ("**" in told) == fails
    assert ("passes without `--strict`" in told) == warns
    assert told.startswith("Bar of 80%: ")


def test_without_a_rate_the_bar_is_undecided():
    none = rated({"LR": []}, reasons={"LR": "no layer keeps the shape"})
    assert parsed(junit_xml(none, 0.0)).get("failures") == "0"
    assert parsed(junit_xml(none, 0.0, strict=True)).get("failures") == "1"
    assert "Bar of 0%: **undecided**" in markdown_summary(none, 0.0, strict=True)
    blind = rated({"GF": GOOD}, reference=ReferenceRecord("none", 0, 0.0))
    blind = replace(blind, notice=replace(blind.notice, rate=None, interval=None, bins=(), operators={}))
    assert markdown_summary(blind).startswith("**Cannot tell which faults your 449 tests notice: ")
    assert parsed(junit_xml(blind)).get("tests") == "1"


def test_failed_jobs_are_an_error():
    broken = rated({"GF": GOOD, "WI": []}, reasons={"WI": "the worker died 3 times"}, failed={"WI"})
    suite = parsed(junit_xml(broken))
    assert (suite.get("errors"), suite.get("skipped")) == ("1", "0")
    assert suite.find("testcase/error").get("message") == "the worker died 3 times"
    assert "failed: the worker died 3 times |" in markdown_summary(broken)


def test_missed_faults_are_listed_the_costliest_first():
    _, _, inhibited, _ = parsed(junit_xml(RESULT)).findall("testcase")
    lines = inhibited.findtext("system-out").splitlines()
    assert lines[0] == "notice rate 12%: 1 of 5 faults noticed"
    missed = [line for line in lines if line.startswith("missed: ")]
    assert [float(line.split()[-3]) for line in missed] == sorted([c for c, seen in BAD if not seen], reverse=True)
    assert missed[0] == "missed: WI at ratio 0.25 on original 6, which costs 20 accuracy points"


def test_many_missed_faults_are_counted():
    many = rated({"WI": [(5.0 + n / 100, False) for n in range(50)]})
    text = parsed(junit_xml(many)).findall("testcase")[1].findtext("system-out")
    assert text.splitlines()[-1] == "missed: 30 more"


def test_markdown_begins_with_the_sentence_and_has_every_number():
    text = markdown_summary(RESULT, parts=CommandParts("mine.py:subject", "mutiny assess mine.py:subject --seed 0"))
    lines = text.splitlines()
    assert lines[0] == f"**{headline(RESULT)}**"
    assert "| 1/2 to 1 | 2 | 1 | 50% |" in lines
    assert "| GF | 5 | 1/1 | 1/1 | 1/1 | 2/2 | 100% |  |" in lines
    assert "| WI | 5 | 0/1 | 0/1 | 0/1 | 1/2 | 12% |  |" in lines
    assert "| LR | 0 | " + f"{NONE} | " * 5 + "no layer keeps the shape |" in lines
    assert "about 830 inputs" in text
    more = markdown_summary(rated({"GF": GOOD * 3, "WI": BAD * 3})).splitlines()
    assert "- Weak spot: of 15 faults of WI, only 3 are noticed; 9 would be at the rates of all faults." in more
    assert "- Drastic, yet missed: WI at ratio 0.25 on original 6, which costs 20 accuracy points." in lines
    assert f"  `{STRENGTHEN}`" in lines
    assert "FILE stands for a file or folder" in text
    assert "Against" not in text
    assert "torch 2.13.0" in lines[-1]


def test_a_comparison_is_part_of_the_summary():
    text = markdown_summary(RESULT, against=COMPARED)
    assert "Against the earlier test set, on the same 120 faults: worse. 70% before, 60% now" in text


def test_classes_are_weak_spots_too():
    hit = [fault("GF", 5.0, False, n, hits=2) for n in range(6)]
    text = markdown_summary(rated({"GF": [*hit, *(fault("GF", 5.0, True, n) for n in range(6))]}))
    said = "Weak spot: of 6 faults that hit class 2, none is noticed; 3 would be at the rates of all faults."
    assert said in text


def test_names_do_no_harm():
    named = replace(
        rated({NASTY: BAD}, reasons={NASTY: NASTY}, failed={NASTY}),
        subject=replace(RESULT.subject, name=NASTY, model=NASTY),
        notes=(NASTY,),
    )
    suite = parsed(junit_xml(named, 0.5))
    assert suite.get("name") == "mutiny: a|b <script>alert(1)</script>\\x00 *c* `d` \ud7ff"
    text = markdown_summary(named, 0.5, parts=CommandParts(f"'{NASTY}'", f"mutiny assess '{NASTY}'"))
    escaped = "\n".join(line for line in text.splitlines() if not line.startswith("  `"))
    assert "<script>" not in escaped


@pytest.mark.parametrize("text", ["plain", "a `b` c", "``", "`", "a```b", "two\nlines"])
def test_code_stays_code(text):
    """By the rule of CommonMark: a run of backticks ends at the next run of equal length."""
    shown = code(text)
    marks = shown[: len(shown) - len(shown.lstrip("`"))]
    inner = shown[len(marks) : -len(marks)]
    runs = [run for run in inner.replace(" ", "x").split("x") if run.strip("`") == "" and run]
    assert shown.endswith(marks)
    assert marks not in runs
    assert "\n" not in shown
    assert inner.strip() == " ".join(text.split()).strip()


def test_rows_have_as_many_cells_as_the_head():
    text = markdown_summary(rated({"a|b": BAD, "LR": []}, reasons={"LR": "x | y\nz"}))
    for table in [part for part in text.split("\n\n") if part.startswith("|")]:
        assert len({line.replace("\\|", "").count("|") for line in table.splitlines()}) == 1


@pytest.fixture(scope="module")
def assessed():
    return assess(toys.blob_subject(2, validation=toys.blobs(300, seed=7)), "GF,LR", seeds=2)


def test_a_real_assessment(assessed, tmp_path):
    write_ci_reports(assessed, tmp_path / "a.xml", tmp_path / "a.md", fail_under=0.0, strict=True)
    suite = parsed((tmp_path / "a.xml").read_text())
    assert [suite.get(kind) for kind in ("tests", "failures", "errors", "skipped")] == ["3", "0", "0", "1"]
    assert (tmp_path / "a.md").read_text().startswith(f"**{headline(assessed)}**")


def test_changed_answers_can_be_read_without_pickle_and_explain_the_p_values(assessed, tmp_path):
    from scipy import stats

    write_kills(tmp_path / "k.npz", assessed)
    with np.load(tmp_path / "k.npz", allow_pickle=False) as kills:
        which, where, change = kills["fault"], kills["position"], kills["change"]
        assert int(kills["inputs"]) == 120
        assert set(kills["weight"].tolist()) <= {1.0}
    assert where.min() >= 0
    assert where.max() < 120
    for number, record in enumerate(assessed.faults):
        broken, repaired = ((change[which == number] == side).sum() for side in (1, -1))
        expected = stats.binomtest(int(broken), int(broken + repaired), alternative="greater").pvalue if broken else 1
        assert record.p_value == pytest.approx(expected)


def test_json_has_no_changed_answers(assessed, tmp_path):
    from mutiny import Assessment

    with pytest.raises(BadInput, match="result=loaded from JSON: expected changed answers"):
        write_kills(tmp_path / "k.npz", Assessment.from_json(assessed.to_json()))
    assert not list(tmp_path.iterdir())
