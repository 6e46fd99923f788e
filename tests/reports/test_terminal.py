"""Standard output, and the parts of which all texts for a terminal are made."""

import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console, Group

from mutiny.reports.terminal import legend, notes, table


def shown(parts):
    console = Console(width=40)
    with console.capture() as capture:
        console.print(Group(*parts))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_notes_are_what_they_say_whatever_they_say():
    assert shown(notes(["runs[old] is [bold]old[/]", "b"])) == [" note runs[old] is [bold]old[/]", " note b"]
    assert shown(notes(["a", "b"], above=1)) == ["", " note a", " note b"]
    assert notes([], above=1) == []


def test_long_notes_stay_inside():
    lines = shown(notes(["word " * 20]))
    assert len(lines) > 2
    assert all(line.startswith(" ") and len(line) < 40 for line in lines)


def test_legends():
    assert shown(legend(["score: a [0, 1] share", "q: less"])) == [" score: a [0, 1] share", " q: less"]


def test_tables_have_a_line_below_the_titles_only():
    one = table()
    one.add_column("a")
    one.add_column("b")
    one.add_row("1", "2")
    assert shown([one]) == ["a   b", "─" * 5, "1   2"]


PRINTS = (
    "from mutiny.reports.terminal import Output; o = Output({fix!r}); [o.print('x' * 70) for _ in range(2000)]; exit(5)"
)


def printing(stdout, fix=""):
    command = [sys.executable, "-c", PRINTS.format(fix=fix)]
    return subprocess.Popen(command, stdout=stdout, stderr=subprocess.PIPE, text=True)


def test_a_reader_that_stops_reading_does_not_change_the_exit_code():
    with printing(subprocess.PIPE) as process:
        assert process.stdout.readline() == "x" * 70 + "\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_an_output_that_cannot_be_written_raises_a_sentence_with_its_fix():
    with Path("/dev/full").open("w") as full:
        process = printing(full, fix="Free some space.")
        told = process.communicate()[1]
    assert "BadInput: output=<the result>: expected a place to print it (No space left on device). Free" in told
