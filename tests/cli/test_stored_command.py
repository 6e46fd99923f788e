"""Commands on a page mean what they say, in an empty folder, too."""

import json
import re
import shlex
from html import unescape

import pytest

from reports.page.handmade import without_spans

SUBJECT = """
from verbs.strengthen.tables import weak_subject

subject = weak_subject(1)
"""
ASSESSED = ("--operators", "NEB,WI(ratio=0.3)", "--seeds", "2", "--alpha", "0.04", "--seed", "3", "-q")
STRONGER = ("--seeds", "1", "--budget", "5", "--seed", "3", "-q")
ALONE = ("--operators", "NEB", "--minimize")


@pytest.fixture
def commands(run, tmp_path):
    """The commands of the page of a store."""

    def on_page(store):
        assert run("report", store, "-o", tmp_path / "page.html").code == 0
        return [
            unescape(line) for line in re.findall(r"<code>(.*?)</code>", without_spans(tmp_path / "page.html"), re.S)
        ]

    return on_page


def plain(path):
    told = json.loads(path.read_text())
    return {name: value for name, value in told.items() if name != "timing"}


@pytest.mark.parametrize("before", [ASSESSED, None], ids=["assessed before", "assesses itself"])
def test_the_command_of_a_strengthening_repeats_it_in_an_empty_folder(
    before, run, write, commands, tmp_path, monkeypatch
):
    subject = write(SUBJECT)
    if before:
        assert run("assess", subject, *before).code == 0
    own = (*STRONGER, *(() if before else ALONE))
    assert run("strengthen", subject, *own, "--json", tmp_path / "first.json").code == 0
    (both,) = [line for line in commands("mine-subject.mutiny") if "\n" in line]
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    first, second = both.splitlines()
    assert run(*shlex.split(first)[1:], "-q").code == 0
    assert run(*shlex.split(second)[1:], "-q", "--json", tmp_path / "again.json").code == 0
    assert plain(tmp_path / "again.json") == plain(tmp_path / "first.json")


def test_a_strengthening_that_assessed_by_itself_gates_with_assess(run, write, commands):
    assert run("strengthen", write(SUBJECT), *STRONGER, *ALONE).code == 0
    assessing = [line for line in commands("mine-subject.mutiny") if re.match(r"mutiny assess .*$", line)]
    assert assessing
    for line in assessing:
        assert run(*shlex.split(line)[1:], "-q", "--fail-under", "0").code == 0


def test_the_usual_store_needs_no_name_and_another_keeps_its_quotes(run, write, commands, tmp_path):
    subject, odd = write(SUBJECT), tmp_path / "'q'.mutiny"
    quick = ("--method", "muff", "--operators", "NEB", "-q")
    assert run("assess", subject, *quick).code == 0
    assert not any("--store" in line for line in commands("mine-subject.mutiny"))
    assert run("assess", subject, *quick, "--store", odd).code == 0
    named = [shlex.split(line) for line in commands(odd) if "--store" in line]
    assert {words[1] for words in named} >= {"strengthen", "select", "locate", "assess"}
    assert all(words[words.index("--store") + 1] == str(odd) for words in named)
