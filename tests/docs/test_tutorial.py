"""docs/tutorial.md from top to bottom: its files, its commands and its code run, and print what the page shows."""

import contextlib
import io
import itertools
import re
import runpy
import shlex
import sys
import warnings

import pytest
from tests.docs.pages import blocks, flowing, forget, words

from mutiny.cli import main
from mutiny.testing.gate import UndecidedWarning, assert_notice_rate

PAGE = "docs/tutorial.md"
ENDS = {"repair": 1}
"""Exit codes that are not 0: nothing is repaired, as the page says."""
GAP = re.compile(r"^ *\.\.\.$", flags=re.M)
"""A line in the place of some that are left out."""


def run(command):
    """What a command of the page prints, and its exit code."""
    program, *arguments = shlex.split(command)
    if program == "python":
        runpy.run_path(arguments[0], run_name="__main__")
        return "", 0
    assert program == "mutiny"
    sys.argv = ["mutiny", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as said, pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, 1, None), command
    return said.getvalue(), end.value.code or 0


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """All blocks of the page, one after another, each with what it printed."""
    folder = tmp_path_factory.mktemp("tutorial")
    names, printed = {"__name__": "tutorial"}, []
    forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setattr(sys, "argv", ["tutorial"])
        patch.setenv("COLUMNS", "80")
        patch.setenv("MUTINY_CACHE", str(folder / "cache"))
        for block in blocks(PAGE):
            said, code = "", 0
            if block.file:
                (folder / block.file).write_text(block.text)
            elif block.language == "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile("\n" * block.line + block.text, PAGE, "exec"), names)
                said = out.getvalue()
            elif block.text.startswith("$ "):
                said, code = run(block.text.splitlines()[0][2:])
            printed.append((block, said, code))
        suite = runpy.run_path("test_our_tests.py")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndecidedWarning)  # another processor trains other networks
            suite["test_our_tests_would_notice"](assert_notice_rate)
        forget()
    return folder, names, printed


def test_commands_end_as_the_page_says(done):
    _, _, printed = done
    for block, _, code in printed:
        if block.text.startswith("$ mutiny"):
            assert code == ENDS.get(block.text.split()[2], 0), block.text


def test_commands_print_what_the_page_shows(done):
    _, _, printed = done
    for block, said, _ in printed:
        if block.text.startswith("$ "):
            there = flowing(said)
            for part in filter(None, map(flowing, GAP.split(block.text.partition("\n")[2]))):
                _, found, there = there.partition(part)
                assert found, f"line {block.line}: not printed, or not there: {part}"


def test_code_prints_what_the_page_shows(done):
    _, _, printed = done
    pairs = itertools.pairwise(printed)
    shown = [(said, after.text) for (_, said, _), (after, _, _) in pairs if after.language == "text"]
    assert len(shown) == 2
    for said, text in shown:
        assert words(said) == words(text)


def test_files_are_there(done):
    folder, _, _ = done
    made = {"my_subject-subject.mutiny", "label_these.txt", "report.html"}
    assert made <= {path.name for path in folder.iterdir()}


def test_more_tests_notice_more(done):
    _, names, _ = done
    assert names["better"].notice.rate > names["result"].notice.rate
    assert len(names["chosen"]) == 20
