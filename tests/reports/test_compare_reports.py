"""A comparison in a terminal, on a page, as JUnit and as Markdown."""

import io
import json
from xml.etree import ElementTree

import pytest
from rich.console import Console

import mutiny
from mutiny.core.errors import BadInput
from mutiny.reports.compare_ci_reports import comparison_junit, comparison_markdown
from mutiny.reports.compare_text import compare_text
from mutiny.reports.loading import load_result
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.compare import QUESTION
from mutiny.reports.page.page import page_of
from mutiny.reports.page.render import html_of
from mutiny.reports.result_text import result_text

EVIL = "<script>alert(1)</script>\x1b[2J"


def comparison(evil="left", **more):
    number = 400
    before = {"id": [f"{evil}{n}" for n in range(number)], "answer": [n % 4 for n in range(number)]}
    before |= {"target": [n % 4 for n in range(number)], "camera": [evil if n % 2 else "right" for n in range(number)]}
    after = {**before, "answer": [0 if n % 8 == 1 else n % 4 for n in range(number)]}
    return mutiny.compare(before, after, slices="camera", **more)


def shown(result):
    console = Console(file=io.StringIO(), width=80)
    console.print(compare_text(result))
    return console.file.getvalue()


def test_the_decision_comes_first_and_then_what_changed():
    result = comparison()
    text = " ".join(shown(result).split())
    assert text.startswith(" ".join(result.sentence.split()))
    assert result.sentence.startswith("B is worse than A: it loses 12.5 accuracy points (90%: ")
    assert "class 1 100 100.0% 50.0% \u221250.0 50 0 < 0.001" in text
    assert "1 taken for 0: 0, now 50" in text
    assert max(map(len, shown(result).splitlines())) <= 80


def test_every_verdict_has_a_sentence_of_its_own():
    many = {"id": range(4000), "correct": [n % 10 > 0 for n in range(4000)]}

    def against(broken, repaired, **more):
        right = [*many["correct"]]
        for n in [n for n in range(4000) if right[n]][:broken]:
            right[n] = False
        for n in range(0, 10 * repaired, 10):
            right[n] = True
        return mutiny.compare(many, {"id": range(4000), "correct": right}, **more).sentence

    assert against(90, 20).startswith("B is worse than A: it loses 1.8 accuracy points")
    assert against(20, 90).startswith("B is better than A: it gains 1.8 accuracy points")
    assert against(3, 3).startswith("B and A are equivalent within 0.5 accuracy points: it loses as many answers as it")
    assert against(20, 30).startswith("B is not worse than A by 0.5 accuracy points or more: it gains 0.2 ")
    assert against(50, 45).startswith("Cannot tell whether B is worse than A: it loses 0.1")
    assert "inputs like these would tell four times in five" in against(50, 45)
    assert against(50, 20, margin="3pt").endswith("The loss is significant, but surely smaller than the margin.")


@pytest.mark.parametrize("strict", [False, True])
def test_junit_and_markdown_fail_as_the_command_does(strict):
    worse, open_question = comparison(), mutiny.compare({"id": [1], "correct": [1]}, {"id": [1], "correct": [1]})
    for result, fails in ((worse, True), (open_question, strict)):
        assert result.fails(strict) == fails
        suite = ElementTree.fromstring(comparison_junit(result, strict))[0]
        assert suite.get("failures") == str(int(fails))
        assert comparison_markdown(result, strict).startswith("**B ")


def test_text_of_a_file_moves_no_cursor_and_runs_no_script():
    result = comparison(EVIL)
    page = html_of(page_of({"compare": result}, CommandParts("FILE.py:NAME", "mutiny assess FILE.py:NAME"), {}))
    markdown = comparison_markdown(result)
    assert QUESTION in page
    assert "<script>alert" not in page + markdown
    assert "\x1b" not in page + markdown + comparison_junit(result)


def test_a_loaded_comparison_says_the_same(tmp_path):
    result = comparison()
    (tmp_path / "c.json").write_text(json.dumps(result.to_json()))
    loaded = load_result(tmp_path / "c.json")
    console = Console(file=io.StringIO(), width=80)
    console.print(result_text(loaded, 80))
    assert console.file.getvalue() == shown(result)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "fine"}, 'verdict="fine": expected one of better, equivalent'),
        ({"difference": {"value": 9, "interval": {"low": 0, "high": 1, "level": 0.9, "method": "x"}}}, "a value in it"),
        ({"means": {"a": 1.0}}, "a and b"),
        ({"p_value": 7}, "p_value=7"),
        ({"flips": {"broken": -1, "repaired": 0}}, "flips.broken=-1: expected at least 0"),
    ],
)
def test_a_comparison_that_nobody_wrote_is_refused(change, message):
    with pytest.raises(BadInput, match=message):
        mutiny.Comparison.from_json({**comparison().to_json(), **change})
