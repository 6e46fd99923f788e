"""Hostile texts: each is a gate or refused in a sentence, little memory is taken, and nothing is evaluated."""

import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random

import pytest
from fuzz.gates import hostile_gate, read
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.gates.grammar import parse_gate

ROOT = Path(__file__).parents[4]
CASES = 10_000
WATCHED = """
import sys
from random import Random
from fuzz.gates import hostile_gate, read
from mutiny.core.errors import BadInput

def tried(text):
    try:
        read(text)
    except BadInput:
        return False
    return True

for seed in range(300):  # what is imported when first used
    tried(hostile_gate(Random(f"warm/{seed}")))
events = []
sys.addaudithook(lambda event, _: events.append(event))
texts = [hostile_gate(Random(seed)) for seed in range(CASES)]
events.clear()
accepted = sum([tried(text) for text in texts])
seen = sorted({*events})
print(accepted, *seen)
"""


def test_ten_thousand_hostile_texts_are_read_or_refused_and_nothing_is_evaluated():
    command = [sys.executable, "-c", WATCHED.replace("CASES", str(CASES))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    accepted, *events = done.stdout.split()
    assert 200 < int(accepted) < CASES - 200
    assert not [event for event in events if not event.startswith(("object.", "sys._getframe"))]


def test_a_refusal_is_one_short_printable_sentence():
    for seed in range(500):
        text = hostile_gate(Random(f"refusal/{seed}"))
        try:
            read(text)
        except BadInput as refused:
            message = str(refused)
            assert "\n" not in message
            assert "\x1b" not in message
            assert message.startswith("judge=")
            assert len(message) < 1500


@pytest.mark.parametrize(
    "text",
    ["(" * 10**6, "not " * 10**6, "accuracy >= 0.9 and " * 10**5, "9" * 10**7, "a" * 10**7, "\u202e" * 10**6],
)
def test_a_huge_text_takes_little_memory_beyond_its_own(text):
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="at most 1,000 characters"):
            parse_gate(text)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["(" * 1000, "not " * 250, "f1(" * 333, "drop(" * 200, "accuracy>0or " * 76])
def test_a_text_of_the_greatest_length_takes_little_memory(text):
    tracemalloc.start()
    try:
        with pytest.raises(BadInput):
            parse_gate(text)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


@given(st.text(max_size=200))
def test_any_text_is_a_gate_or_refused(text):
    try:
        gate = parse_gate(text)
    except BadInput:
        return
    assert parse_gate(gate.text) == gate
