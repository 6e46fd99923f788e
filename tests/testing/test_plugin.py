"""The pytest plugin as its users have it: in a test suite of their own, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutiny.errors import BadInput
from mutiny.testing.gate import assert_mutation_score, kept

SUITE = """
import torch
from torch import nn

import mutiny


def subject():
    x = torch.randn(300, 4, generator=torch.Generator().manual_seed(0))
    y = (x.sum(1) > 0).long()
    net = nn.Linear(4, 2).eval()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4]))
        net.bias.zero_()
    easy = x[200:][x[200:].sum(1).abs() > 2]
    test = (easy, (easy.sum(1) > 0).long())
    return mutiny.Subject(net, task=mutiny.Classification(2), train=(x[:200], y[:200]), test=test, name="linear")


def test_low(assert_mutation_score):
    assert assert_mutation_score(subject(), at_least=0.0, operators="WI(ratio=0.5)").score.value < 1


def test_high(assert_mutation_score):
    assert_mutation_score(subject(), at_least=1.0, operators="WI(ratio=0.5)")
"""


def pytest_in(folder, *arguments):
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=200, check=False, env=quiet,
    )  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    Path(folder, "test_mine.py").write_text(SUITE)
    return folder, pytest_in(folder)


def test_it_passes_and_fails(ran):
    _, done = ran
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout


def test_a_failure_says_what_the_tests_miss_and_nothing_of_our_code(ran):
    _, done = ran
    (first, *rest) = [line for line in done.stdout.splitlines() if line.startswith("E ")]
    assert "AssertionError: mutation score" in first
    assert "is below 100.0%" in first
    assert any("WI(ratio=0.5) (weight inhibitor), score" in line for line in rest)
    assert any("mutiny report" in line and "linear.mutiny" in line for line in rest)
    assert "gate.py" not in done.stdout


def test_what_was_computed_is_looked_up(ran):
    """A store that is read, not written again: the same results, and not one task more."""
    import sqlite3

    folder, _ = ran

    def results():
        with sqlite3.connect(folder / ".mutiny" / "linear.mutiny") as file:
            return file.execute("select count(*) from results").fetchone()

    before = results()
    assert before[0] > 0
    assert pytest_in(folder, "-k", "low").returncode == 0
    assert results() == before


def test_bars_that_cannot_be(tmp_path):
    with pytest.raises(BadInput, match="at_least=80"):
        assert_mutation_score("digits", at_least=80, store=tmp_path / "x.mutiny")


def test_subjects_have_files_of_their_own():
    assert kept("a/b.py:c", Path("root")) == Path("root/.mutiny/b-c.mutiny")
