"""The page of a notice rate: complete, escaped, and with commands that can be run."""

import io
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from typer.main import get_command

import mutiny
from mutiny.cli.app import app
from mutiny.reports.notice_sentences import headline
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.decision import decision
from mutiny.reports.page.method import assess_command
from mutiny.reports.page.notice_advice import next_steps
from mutiny.reports.page.page import page_of
from mutiny.reports.page.render import html_of
from mutiny.reports.result_text import result_text
from mutiny.verbs.assess.notice import PlannedSize, ReferenceRecord
from mutiny.verbs.strengthen.result import Strengthening
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
    "all noticed": rated({"GF": GOOD * 5}, interval=(0.85, 0.99)),
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
        ("nothing noticed", "No: these tests do not support it; they notice none of the faults that cost 4 to 8"),
        ("no reference", "Cannot tell from these tests"),
        ("no fault that counts", "Cannot tell from these tests"),
        ("one original", "Cannot tell yet: only 2 faults that cost 4 to 8 accuracy points were tried."),
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
        ("all noticed", ["Collect 381 more tests", "Guard the notice rate in CI"]),
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
    for originals, title in ((4, "Use more originals"), (5, "Try more faults"), (1, "Try more faults")):
        few, *_ = next_steps(rated({"GF": GOOD}, originals=originals, **wide), PARTS)
        assert few.title == title


BINS = (0.6, 1.5, 3.0, 5.0)


def binned(*bins, interval=(0.6, 0.95), **more):
    """A result from noticed and all faults of each bin."""
    faults = [(cost, n < noticed) for cost, (noticed, all_) in zip(BINS, bins, strict=True) for n in range(all_)]
    return rated({"GF": faults}, interval=interval, **more)


@pytest.mark.parametrize(
    ("bins", "interval", "said"),
    [
        (
            [(49, 60), (18, 20), (20, 20), (10, 10)],
            (0.81, 0.97),
            "Yes, if the tests pass: they notice 93% of the faults that cost 1/2 to 8 accuracy points.",
        ),
        (
            [(10, 20), (0, 0), (10, 10), (9, 10)],
            (0.6, 0.95),
            "Only if a loss of less than 2 accuracy points is acceptable. The tests notice 95% of the faults that cost "
            "2 to 8 accuracy points, and only 50% of those that cost 1/2 to 1.",
        ),
        (
            [(3, 3), (10, 10), (0, 0), (9, 10)],
            (0.6, 0.95),
            "Only if a loss of less than 1 accuracy points is acceptable. The tests notice 95% of the faults that cost "
            "1 to 2 or 4 to 8 accuracy points, and 100% of those that cost 1/2 to 1, of which only 3 were tried.",
        ),
        (
            [(30, 30), (7, 10), (10, 10), (10, 10)],
            (0.6, 0.95),
            "Only if a loss of less than 2 accuracy points is acceptable. The tests notice 100% of the faults that "
            "cost 2 to 8 accuracy points, and 85% of those that cost 1/2 to 2.",
        ),
        (
            [(9, 9), (9, 9), (9, 9), (1, 1)],
            (0.6, 0.95),
            "Cannot tell yet: only 1 fault that costs 4 to 8 accuracy points was tried. Use more random choices, or "
            "more originals.",
        ),
    ],
)
def test_a_decision_says_the_rates_of_the_bins_that_have_enough_faults(bins, interval, said):
    result = binned(*bins, interval=interval)
    assert decision(result) == said.replace("1 accuracy points is", "1 accuracy point is")
    if said.startswith("Yes"):
        assert "notice 93% of" in headline(result)


def titles(result, results=None):
    return [block.title for block in next_steps(result, PARTS, results) if block.kind == "command"]


def test_no_gate_that_every_test_set_passes_is_advised():
    assert "Guard the notice rate in CI" in titles(binned(*[(1, 9)] * 4, interval=(0.01, 0.2)))
    assert "Guard the notice rate in CI" not in titles(binned(*[(1, 9)] * 4, interval=(0.009, 0.2)))


def test_after_strengthen_the_chosen_inputs_are_used_before_more_are_collected():
    missed = binned(*[(1, 9)] * 4, interval=(0.009, 0.2))
    assert titles(missed) == ["Add tests", "Or collect 381 more tests"]
    chosen = choosing(7)
    assert titles(missed, {"strengthen": chosen}) == ["Add the chosen inputs", "Or collect 381 more tests"]
    assert "Label 7 inputs that" in next_steps(missed, PARTS, {"strengthen": chosen})[0].why
    assert titles(missed, {"strengthen": choosing(0)})[0] == "Add tests"


def choosing(size):
    """A strengthening that has chosen so many inputs."""
    chosen = Strengthening.__new__(Strengthening)
    object.__setattr__(chosen, "order", np.arange(size))
    return chosen


def test_a_size_that_is_not_known_well_is_no_advice_to_collect():
    result = binned(*[(3, 9)] * 4)
    plan = (PlannedSize(1.0, 261_636, 1_243, 55_000_000),)
    unsure = replace(result, notice=replace(result.notice, plan=plan))
    assert not any("ollect" in title for title in titles(unsure))
    text = Reader(shown(unsure)).text
    assert "261,636" not in text
    assert "1,243 or more" in text
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(result_text(unsure, 200))
    told = console.export_text()
    assert "takes at least 1,243 inputs like these; how many more is unknown with 10 originals." in told
    assert "261,636" not in told
    assert "tests needed for" not in told


def test_the_page_has_the_costs_of_the_terminal():
    result = rated({"GF": [*GOOD, (-0.133, False), (44.5, True)]})
    assert "0.0 to 44.5" in Reader(shown(result)).text
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(result_text(result, 100))
    assert "0.0-44.5" in console.export_text()


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
    assert "2,000 validation inputs, or as many training inputs, are enough" in step.why
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
