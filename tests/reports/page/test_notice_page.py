"""The page of a notice rate: complete, escaped, and with commands that can be run."""

import io
import re
import shlex
from dataclasses import replace

import pytest
from rich.console import Console
from typer.main import get_command

import mutiny
from mutiny.cli.app import app
from mutiny.reports.notice_sentences import decision, headline
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.method import assess_command
from mutiny.reports.page.notice_advice import next_steps
from mutiny.reports.page.page import page_of
from mutiny.reports.page.render import html_of
from mutiny.reports.result_text import result_text
from mutiny.verbs.assess.notice import ReferenceRecord
from reports.page.handmade import fault, rated
from reports.page.test_page import EVIL, Reader
from toys import blob_subject, blobs, line_subject

ORDER = ["notice", "by-operator", "by-class", "missed-faults", "enough", "sure", "method"]
GOOD = [(0.6, True), (1.5, True), (3.0, True), (5.0, True), (6.0, True)]
BAD = [(0.6, False), (1.5, False), (3.0, False), (5.0, True), (6.0, False), (20.0, False)]
PARTS = CommandParts("'my net.py:subject' --data data", "mutiny assess 'my net.py:subject' --data data --seed 0")


def without_reference(result):
    notice = replace(
        result.notice, rate=None, interval=None, bins=(), classes={}, reference=ReferenceRecord("none", 0, 0.0)
    )
    operators = {label: replace(rate, rate=None, bins=()) for label, rate in notice.operators.items()}
    return replace(result, notice=replace(notice, operators=operators))


RESULTS = {
    "usual": rated({"GF": GOOD, "WI": BAD, "LR": []}, reasons={"LR": "no layer keeps the shape"}),
    "all noticed": rated({"GF": GOOD * 3}, interval=(0.85, 0.99)),
    "nothing noticed": rated({"GF": [(cost, False) for cost, _ in GOOD]}),
    "no reference": without_reference(rated({"GF": GOOD})),
    "no fault that counts": rated({"GF": [(0.1, False), (30.0, True)]}),
    "no operator applies": rated({"LR": []}, reasons={"LR": "no layer keeps the shape"}),
    "failed": rated({"GF": GOOD, "WI": []}, reasons={"WI": "the worker died"}, failed={"WI"}),
    "one original": rated({"GF": GOOD}, originals=1),
    "no interval": rated({"GF": GOOD}, originals=1, interval=None),
    "memorized": rated({"GF": GOOD}, reference=ReferenceRecord("train", 1000, 0.99, 20.0)),
    "classes": rated({"GF": [fault("GF", 5.0, n > 6, n, hits=n % 3) for n in range(20)]}),
}


def shown(result, **more):
    again = assess_command(result, "toy.py:subject")
    return html_of(page_of({"assess": result, **more}, CommandParts("toy.py:subject", again), {"assess": again}))


def test_costs_are_a_column_only_if_they_were_measured():
    hint = "lowest and highest cost of all faults that were tried"
    assert hint in shown(RESULTS["usual"])
    assert hint not in shown(RESULTS["no reference"])  # an earlier version wrote costs on the test set


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_a_page_that_begins_with_the_answer(name):
    result, text = RESULTS[name], shown(RESULTS[name])
    page = Reader(text)
    assert [one["id"] for one in page.all("section")] == ORDER
    assert len(set(page.ids)) == len(page.ids)
    links = [one["href"][1:] for one in page.all("a")]
    assert set(links) <= set(page.ids)
    first = text.index('<section id="notice"')
    assert text.index("May this ship?") < first
    summary = Reader(re.search(r'<div class="summary".*?</div>\s*</div>', text, re.S)[0]).text
    assert headline(result) in summary
    assert decision(result) in summary
    for table in re.findall(r"<table.*?</table>", text, re.S):
        widths = {len(re.findall(r"<t[hd][ >]", row)) for row in re.findall(r"<tr.*?</tr>", table, re.S)}
        assert len(widths) == 1


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("usual", "No: these tests do not support it; they miss 1 fault that costs 8 accuracy points or more"),
        ("all noticed", "Yes, if the tests pass"),
        ("nothing noticed", "No: these tests do not support it; they notice only 0% of the faults that cost 4 to 8"),
        ("no reference", "Cannot tell from these tests"),
        ("no fault that counts", "Cannot tell from these tests"),
        ("one original", "Probably, if the tests pass"),
    ],
)
def test_may_this_ship(name, answer):
    assert decision(RESULTS[name]).startswith(answer)


@pytest.mark.parametrize("name", RESULTS)
def test_every_command_can_be_run_as_it_is(name):
    commands = get_command(app).commands
    steps = [block for block in next_steps(RESULTS[name], PARTS) if block.kind == "command"]
    assert 1 <= len(steps) <= 3
    for step in steps:
        program, verb, *arguments = shlex.split(step.line)
        assert program == "mutiny"
        assert commands[verb].make_context(verb, arguments)


@pytest.mark.parametrize(
    ("name", "titles"),
    [
        ("failed", ["Finish the assessment"]),
        ("no reference", ["Add a validation set"]),
        ("no fault that counts", ["Try more faults"]),
        ("memorized", ["Add a validation set"]),
        ("usual", ["Add tests"]),
        ("all noticed", ["Or collect 381 more tests", "Guard the notice rate in CI"]),
    ],
)
def test_the_most_useful_step_comes_first(name, titles):
    steps = [block.title for block in next_steps(RESULTS[name], PARTS) if block.kind == "command"]
    assert steps[: len(titles)] == titles


def test_the_suggested_bar_is_one_that_the_rate_passes_today():
    result = RESULTS["all noticed"]
    (line,) = [block.line for block in next_steps(result, PARTS) if "--fail-under" in getattr(block, "line", "")]
    bar = float(line.split("--fail-under ")[1].split()[0])
    assert bar <= result.notice.interval.low < bar + 0.01


def test_what_users_write_is_text():
    evil = rated({EVIL: BAD}, reasons={EVIL: EVIL}, name=EVIL, notes=(EVIL, "<img src=x onerror=alert(1)>"))
    evil = replace(evil, settings={**evil.settings, "<b>odd</b>": EVIL}, versions={EVIL: EVIL})
    text = shown(evil)
    page = Reader(text)
    assert len(page.all("script")) == 1
    assert not page.all("b") + page.all("img")
    assert page.text.count(EVIL) >= 5  # to be read, not to be run


def test_missed_faults_are_listed_the_costliest_first():
    text = shown(RESULTS["usual"])
    (table,) = [part for part in re.findall(r"<table.*?</table>", text, re.S) if "Missed faults" in part]
    costs = [float(cells[1]) for cells in (re.findall(r"<t[dh][^>]*>([^<]*)<", row) for row in table.split("<tr")[2:])]
    assert costs == [20.0, 6.0, 3.0, 1.5, 0.6]


def test_the_command_is_made_from_settings():
    result = RESULTS["usual"]
    assert assess_command(result, "toy") == "mutiny assess toy --operators GF,WI,LR --originals 10 --seed 0"
    other = replace(result, settings={**result.settings, "seed": 7, "seeds": 3, "alpha": 0.01, "exact": True})
    line = assess_command(other, "toy")
    assert line == ("mutiny assess toy --operators GF,WI,LR --originals 10 --seed 7 --seeds 3 --alpha 0.01 --exact")
    get_command(app).commands["assess"].make_context("assess", shlex.split(line)[2:])


def test_a_wide_interval_asks_for_more_originals_or_more_faults():
    wide = {"interval": (0.4, 0.95)}
    trained = rated({"GF": GOOD}, facts={"more_originals": True}, **wide)
    lines = [block.line for block in next_steps(trained, PARTS) if block.kind == "command"]
    assert any(line.endswith("--originals 20") for line in lines)
    given = next_steps(rated({"GF": GOOD}, **wide), PARTS)
    assert any(block.line.endswith("--seeds 2") for block in given if block.kind == "command")


def test_an_interval_that_tells_nothing_is_narrowed_first():
    usual = {"GF": [*GOOD, (0.7, False)]}
    for facts, line in (({"more_originals": True}, f"{PARTS.again} --originals 10"), ({}, PARTS.again)):
        result = rated(usual, originals=2, interval=(0.05, 0.9), facts=facts)
        first, second, *others = next_steps(result, PARTS)
        assert first.line == f"{line}{PARTS.kept}"
        assert " strengthen " in second.line
        assert not any("--fail-under" in step.line for step in others if step.kind == "command")
        assert decision(result) == (
            "Cannot tell yet: the notice rate may be anything from 5% to 90%. Use at least 5 originals. "
            "With one original, the answer holds for that network only."
        )
        assert '<p class="headline">' not in shown(result)


def test_few_reference_inputs_are_told_on_the_first_screen():
    result = rated({"GF": [*GOOD, (0.7, False)]}, reference=ReferenceRecord("validation", 269, 0.98))
    text = shown(result)
    assert text.index("points too low, because costs were measured on only 269 inputs") < text.index(
        '<section id="notice"'
    )
    step = next_steps(result, PARTS)[0]
    assert "at least 2,000 of them, or its training set" in step.why
    assert step.line.startswith(PARTS.again)


@pytest.fixture(scope="module")
def real():
    """Classification with several originals, one original, and a regression."""
    several = blob_subject(3, validation=blobs(300, seed=7))
    return [
        mutiny.assess(several, "GF,NEB,LR", seeds=2),
        mutiny.assess(blob_subject(1), "GF", seeds=3),
        mutiny.assess(line_subject(2), "GF", seeds=2),
    ]


def test_real_results(real):
    for result in real:
        page = Reader(shown(result))
        assert [one["id"] for one in page.all("section")] == ORDER
        assert headline(result) in page.text
        assert page.text.count("What do the tests notice?") == 2  # the question, and the way to it
        line = assess_command(result, "toy")
        assert get_command(app).commands["assess"].make_context("assess", shlex.split(line)[2:])


def test_page_and_terminal_name_the_test_that_notices_faults(real):
    classification, _, regression = real
    for result, on_page, on_terminal in (
        (classification, "McNemar's exact test of its answers", "noticed: McNemar's test of the fault"),
        (
            regression,
            "shows that it raises the mse of its original by more than 1%",
            "t-test of whether the fault raises the mse of its original by more than 1%",
        ),
    ):
        assert on_page in Reader(shown(result)).text
        console = Console(width=200, record=True, file=io.StringIO())
        console.print(result_text(result, 200))
        assert on_terminal in console.export_text()
