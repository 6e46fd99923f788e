"""Parts of which all texts for a terminal are made."""

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
