"""Commands on a terminal fit its width, and a shell reads what was meant."""

import shlex
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mutiny.reports.next_steps_text import broken, next_steps_text
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.blocks import Command, Text
from mutiny.reports.page.notice_advice import next_steps
from reports.page.handmade import rated

NAMES = st.text(st.sampled_from("ab ./-'\"\\$`\u00e9"), min_size=1, max_size=20)


def typed(lines):
    """The words that a shell makes of some lines."""
    return shlex.split("\n".join(lines).replace("\\\n", ""))


@given(NAMES, st.lists(st.tuples(st.sampled_from(["--store", "--seed", "-o"]), NAMES), max_size=6), st.integers(20, 90))
def test_a_shell_reads_a_broken_command_as_one(subject, options, width):
    words = ["mutiny", "assess", subject, *(word for option in options for word in option)]
    lines = broken(shlex.join(words), width)
    assert typed(lines) == words
    assert all(line.endswith(" \\") for line in lines[:-1])


@given(st.lists(st.sampled_from(["--seeds 20", "--exact", "--originals 10", "--operators WI,NI,GF"]), max_size=12))
def test_lines_are_as_long_as_they_may_be_and_no_longer(options):
    lines = broken(" ".join(["mutiny assess my_subject.py:subject", *options]), 60)
    assert all(len(line) <= 60 for line in lines)
    for line, after in pairwise(lines):
        option = after.removesuffix(" \\").split(" --")[1]
        assert len(line) + len(f" --{option}") > 60  # it did not fit


def screen(steps, width=80):
    console = Console(width=width)
    with console.capture() as capture:
        console.print(next_steps_text(steps, width))
    return capture.get()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_screen_has_each_command_and_each_reason(width):
    parts = CommandParts(
        "'my net.py:subject'", "mutiny assess 'my net.py:subject' --operators WI,NI,GF --seed 0", "a.db"
    )
    steps = next_steps(rated({"GF": [(0.6, False), (1.5, True)]}), parts)
    text = screen(steps, width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    flowing, whole = " ".join(text.split()), " ".join(text.replace("\\\n", "").split())
    for step in steps:
        assert (step.line if isinstance(step, Command) else step.text) in whole
        assert isinstance(step, Text) or f"- {step.title}. {step.why}" in flowing


def test_nothing_to_do_shows_nothing():
    assert screen([]).strip() == ""
