"""The screen of the demo in the README is what the command prints."""

import re
import sys

import pytest
from tests.docs.pages import blocks, flowing, words

from mutiny.cli import main

COMMAND = "$ mutiny demo\n"
RATE = re.compile(r"notice (\d+)% of the faults")


def shown():
    (screen,) = [block.text.removeprefix(COMMAND) for block in blocks("README.md") if block.text.startswith(COMMAND)]
    return screen


def test_the_guide_shows_the_same_numbers():
    """The demo is an assessment of digits with its ten originals, which the guide explains."""
    guide = next(block.text for block in blocks("docs/assess.md") if block.text.startswith("$ mutiny assess digits"))
    lines = [line.strip() for line in guide.splitlines()]
    assert all(line.strip() in lines for line in shown().splitlines())


@pytest.mark.slow
def test_the_demo_prints_what_the_readme_shows(tmp_path, monkeypatch, capsys):
    """A processor that rounds differently may change an answer that is nearly a tie, so a few points are allowed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "argv", ["mutiny", "demo"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
    said = capsys.readouterr().out
    assert not list((tmp_path / "cache").rglob("*.safetensors"))  # the originals come with the package
    sentences, _, table = shown().partition("\n\n")
    assert flowing(sentences) in flowing(said)
    assert set(words(table)) <= set(words(said))
    assert int(RATE.search(said)[1]) == pytest.approx(int(RATE.search(sentences)[1]), abs=3)
    assert (tmp_path / "mutiny-report.html").is_file()
