"""Every command and option that the README and the guides name exists."""

import re
import shlex

import pytest
from tests.docs.pages import FENCE, PAGES, commands, text
from typer.main import get_command

from mutiny.cli.app import app

KNOWN = {
    name: {form for option in command.params for form in (*option.opts, *option.secondary_opts)} | {"--help"}
    for name, command in get_command(app).commands.items()
}
ALONE = {"--help", "--version"}
"""Options without a command."""


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_commands_and_their_options_exist(page):
    for line in commands(page):
        words = shlex.split(line, comments=True)
        if words[1].startswith("-"):
            assert words[1] in ALONE, f"{page}: {line}"
            continue
        assert words[1] in KNOWN, f"{page}: {line}"
        for word in words[2:]:
            if re.match(r"--?[a-z]", word):
                assert word.partition("=")[0] in KNOWN[words[1]], f"{page}: {line}"


@pytest.fixture(scope="module")
def of_pytest(pytestconfig):
    """The options of pytest and of its plugins, such as that of mutiny."""
    parser = pytestconfig._parser
    groups = [parser._anonymous, *parser._groups]
    return {name for group in groups for option in group.options for name in option.names()}


@pytest.mark.parametrize("page", PAGES)
def test_options_in_the_text_are_those_of_some_command(page, of_pytest):
    options = set(re.findall(r"`[^`\n]*?(--[a-z][a-z-]+)", FENCE.sub("", text(page))))
    assert options <= ALONE.union(of_pytest, *KNOWN.values()), page


def test_no_option_has_two_names():
    """Short forms aside: what pages call it is what it is called."""
    for name, command in get_command(app).commands.items():
        for option in command.params:
            assert sum(form.startswith("--") for form in option.opts) <= 1, f"{name}: {option.opts}"


def test_the_check_bites():
    assert "--no-such" not in KNOWN["assess"]
    assert "--fail-under" in KNOWN["assess"]
    assert "--fail-under" not in KNOWN["select"]
