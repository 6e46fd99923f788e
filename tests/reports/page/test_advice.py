"""What to do next follows from what was found, and can be parts as it is."""

import shlex
from dataclasses import replace

import pytest
from typer.main import get_command

from mutiny.cli.app import app
from mutiny.core.records import Basis
from mutiny.faults import OPERATORS
from mutiny.reports.page.advice import CommandParts, advice_section, minimize_command
from mutiny.reports.page.method import assess_command, method_section
from mutiny.reports.page.page import page_of
from reports.page.handmade import KILLED, SURVIVED, UNSTABLE, assessment, mutant, operator

MISSED = operator("WI", {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}}, score=0.4149)
FINE = operator("WI", {"train": {0.5: KILLED}, "test": {0.5: KILLED}}, score=1.0)
SHAKY = operator("NI(ratio=0.1)", {"train": {0.5: UNSTABLE}}, score=None)
PARTS = CommandParts(
    "'my net.py:subject' --data data", "mutiny assess 'my net.py:subject' --data data --seed 0", "a.mutiny"
)


def lines(result, done=(), parts=PARTS):
    section = advice_section(result, parts, dict.fromkeys(done))
    return [block.line for block in section.blocks if block.kind == "command"]


def test_survivors_ask_for_inputs():
    found = lines(assessment(MISSED, originals=20, facts={"pool": 300}))
    assert found[0] == f"mutiny strengthen {PARTS.subject} --budget 1%,2%,5% --store a.mutiny"
    assert found[1] == f"mutiny select {PARTS.subject} --budget 5% --store a.mutiny"
    assert not any("strengthen" in line for line in lines(assessment(FINE, originals=20)))
    assert not any("mutiny select" in line for line in lines(assessment(MISSED), done={"select"}))
    assert "--store" not in lines(assessment(MISSED), parts=CommandParts("toy", "mutiny assess toy"))[0]


def test_advice_says_that_strengthening_assesses_by_the_notice_rate():
    section = advice_section(assessment(MISSED, originals=20, facts={"pool": 300}), PARTS)
    assert section.blocks[1].why == (
        "1 mutant of WI is missed. This assesses by the notice rate and proposes inputs for the faults that are missed."
    )


def test_without_a_pool_there_is_a_word_for_one():
    for facts in ({}, {"pool": None}):
        section = advice_section(assessment(MISSED, originals=20, facts=facts), PARTS)
        assert section.blocks[1].line.startswith(f"mutiny strengthen {PARTS.subject} --pool FILE --budget")
        assert "FILE stands for a file or folder with inputs to choose from." in section.blocks[0].text
    known = advice_section(assessment(MISSED, originals=20, facts={"pool": 300}), PARTS).blocks[0].text
    assert "can be copied into a shell as it is" in known
    unknown = CommandParts("FILE.py:NAME", "mutiny assess FILE.py:NAME")
    assert "FILE.py:NAME stands for your subject" in advice_section(assessment(MISSED), unknown).blocks[0].text


def test_a_smaller_test_set_alone_adds_nothing():
    from reports.page.test_strengthen import STRENGTHENED

    for chosen, wanted in (([], "Or label"), (STRENGTHENED.order, "Label")):
        asked = replace(STRENGTHENED, order=chosen, predicted={}, measured=())
        page = page_of({"assess": assessment(MISSED), "strengthen": asked}, PARTS, {})
        steps = next(section for section in page.sections if section.id == "advice").blocks[1:]
        assert any("mutiny strengthen" in step.line for step in steps) is (not len(chosen))
        assert [step.title for step in steps if "mutiny select" in step.line] == [
            f"{wanted} what the network probably gets wrong"
        ]


def test_the_seed_of_the_assessment_is_told():
    parts = replace(PARTS, seed=7)
    few = assessment(MISSED, SHAKY, originals=2, facts={"more_originals": True})
    for line in (*lines(few, parts=parts), minimize_command(parts)):
        assert "--seed 7" in line or line.startswith(PARTS.again)
        assert line.endswith("--store a.mutiny")


def test_the_bar_is_one_that_todays_score_passes():
    assert lines(assessment(MISSED))[-1] == f"{PARTS.again} --fail-under 0.41 --store a.mutiny"
    assert lines(assessment(FINE))[-1].endswith("--fail-under 1.00 --store a.mutiny")
    assert not any("--fail-under" in line for line in lines(assessment(SHAKY)))


def test_few_originals_or_a_wide_interval_ask_for_more():
    more = {"more_originals": True}
    for originals in (1, 4):
        result = assessment(MISSED, originals=originals, interval=None, facts=more)
        assert any("--operators WI --originals 10" in line for line in lines(result))
    wide = assessment(MISSED, originals=12, interval=(0.1, 0.9), facts=more)
    assert any("--originals 20" in line for line in lines(wide))
    assert not any("--originals" in line for line in lines(assessment(MISSED, originals=20, interval=(0.3, 0.5))))


def test_a_list_of_models_cannot_be_asked_for_more():
    again = "mutiny assess mine.py:subject --originals 3 --seed 0"
    section = advice_section(assessment(MISSED, originals=3, interval=None), CommandParts("mine.py:subject", again))
    (surer,) = [step for step in section.blocks[1:] if step.title == "Narrow the uncertainty"]
    assert surer.line == "mutiny assess mine.py:subject --seed 0"
    assert "Give the subject 10 models" in surer.why


def test_what_was_not_judged_gets_another_chance():
    assert (
        f"mutiny assess {PARTS.subject} --method muff --operators 'NI(ratio=0.1)' --rse 0.1 --store a.mutiny"
        in lines(assessment(MISSED, SHAKY))
    )
    hidden = operator("GF", {"train": {0.5: SURVIVED}}, score=None, hidden=3)
    assert f"mutiny assess {PARTS.subject} --method muff --operators GF --test wilcoxon --store a.mutiny" in lines(
        assessment(MISSED, hidden)
    )


def test_where_nothing_is_left_to_find_other_faults_are_tried(monkeypatch):
    monkeypatch.setitem(vars(OPERATORS), "added", {"SF": object})  # an operator of an installed package
    (found,) = [line for line in lines(assessment(FINE, originals=20)) if "--operators" in line]
    assert "--operators " + ",".join(code for code in OPERATORS.builtin if code != "WI") + " " in found
    none = lines(assessment(SHAKY, originals=20))
    assert any(line.startswith(f"mutiny assess {PARTS.subject} --method muff --operators WI,NI,") for line in none)
    every = [operator(code, {"train": {0.5: KILLED}, "test": {0.5: KILLED}}, score=1.0) for code in OPERATORS.builtin]
    assert any("--operators all " in line for line in lines(assessment(*every, originals=20)))


def test_samples_can_be_checked():
    sampled = operator("WI", mutants=(mutant("WI", 0.5, "test", KILLED, basis=Basis.SAMPLED),))
    assert f"{PARTS.again} --exact --store a.mutiny" in lines(assessment(sampled))
    assert not any("--exact" in line for line in lines(assessment(FINE)))


@pytest.mark.parametrize("result", [assessment(MISSED, SHAKY, originals=2), assessment(FINE)], ids=["missed", "fine"])
def test_every_command_is_one(result):
    commands = get_command(app).commands
    for line in lines(result):
        mutiny, verb, *arguments = shlex.split(line)
        assert mutiny == "mutiny"
        if verb in commands:
            commands[verb].make_context(verb, arguments)
        else:
            assert verb == "strengthen"


def test_the_command_is_made_from_settings():
    result = assessment(MISSED, SHAKY, originals=3)
    line = assess_command(result, "toy")
    assert line == "mutiny assess toy --method muff --operators 'WI,NI(ratio=0.1)' --originals 3 --seed 0"
    other = {
        **result.settings,
        "seed": 7,
        "screening": None,
        "weak": {"share": 0.25},
        "rule": {**result.settings["rule"], "alpha": 0.01},
        "search": {**result.settings["search"], "k_max": 9},
    }
    line = assess_command(assessment(MISSED, originals=3, settings=other), "toy")
    assert (
        line == "mutiny assess toy --method muff --operators 'WI,NI(ratio=0.1)' --originals 3 --seed 7 --alpha 0.01 "
        "--k-max 9 --weak-share 0.25 --exact"
    )
    get_command(app).commands["assess"].make_context("assess", shlex.split(line)[2:])


def test_real_settings_give_the_command_that_made_them(assessed):
    line = assess_command(assessed, "toy")
    muff = "mutiny assess toy --method muff"
    assert line == f"{muff} --operators WI,NEB,AFR --originals 6 --seed 0 --k-max 2 --max-probes 4"


def test_the_method_tells_rule_seed_versions_and_command():
    result = assessment(MISSED)
    (part,) = method_section({"assess": result}, {"assess": "mutiny assess toy"}).blocks
    text = " ".join(block.text for block in part.blocks if block.kind == "text")
    assert "GLM z-test between trainings, p < 0.05 and Cohen's d of at least 0.5" in text
    assert "1,000 answers" in text
    facts = dict(next(block for block in part.blocks if block.kind == "facts").pairs)
    assert facts["seed"] == "0"
    assert facts["torch"] == "2.13.0"
    assert facts["started"] == "2026-01-02T03:04:05+0000"
    settings = dict(part.blocks[-1].blocks[0].pairs)
    assert settings["rule beta"] == "0.5"
    (lost,) = method_section({"assess": result}, {}).blocks
    assert "The file does not name the command" in " ".join(b.text for b in lost.blocks if b.kind == "text")
