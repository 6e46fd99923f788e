"""All verbs but ``assess`` keep what they did; ``resume`` and ``report`` know them."""

import json
import os
import re
import shlex

import pytest

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.command import COMMANDS

SUBJECT = """
from verbs.repair.spoilt import data, faulty

subject = mutiny.Subject(faulty()[0], task=mutiny.Classification(3), train=blobs(), test=data(300), name="blobs")
other = nn.Sequential(*faulty()[0]).eval()
"""
STOPPED = """
from verbs.repair.spoilt import data, faulty

import os

def forward(model, x):
    left = int(os.environ["LEFT"]) - 1
    os.environ["LEFT"] = str(left)
    if not left:
        raise KeyboardInterrupt
    return model(x)

subject = mutiny.Subject(faulty()[0], task=mutiny.Classification(3), train=blobs(), test=data(300), name="blobs",
                         forward=forward)
other = nn.Sequential(*faulty()[0]).eval()
"""
OPTIONS = {
    "attack": (
        *("--attack", "pgd(iterations=3)", "--eps", "0.1,0.2", "--mutants", "2", "--iterations", "3", "--low", "-9"),
        *("--high", "9", "--count", "40"),
    ),
    "select": ("--compare", "deepgini,dsa,random", "--repeats", "2"),
    "locate": ("--k", "3", "--validate", "3"),
    "strengthen": "--operators NEB --seeds 1 --budget 5 --minimize".split(),
    "repair": ("--method", "scale(generations=25)"),
    "compare": ("--margin", "3pt"),
}


def line(verb, subject):
    """The words of a command; what is compared is in the same file."""
    other = [subject.replace(":subject", ":other")] if verb == "compare" else []
    return [verb, subject, *other, *OPTIONS[verb]]


def untimed(path):
    return {name: value for name, value in json.loads(path.read_text()).items() if name != "timing"}


def test_every_verb_can_be_resumed():
    assert set(COMMANDS) == {"assess", *OPTIONS}


@pytest.mark.parametrize("verb", OPTIONS)
def test_a_result_is_kept_shown_and_reported(run, write, tmp_path, verb):
    first = run(*line(verb, write(SUBJECT)), "--json", tmp_path / "a")
    assert first.code == 0
    assert "Kept in mine-subject.mutiny" in first.out
    second = run(*line(verb, write(SUBJECT)), "--json", tmp_path / "b")
    assert second.out == first.out
    assert (tmp_path / "b").read_text() == (tmp_path / "a").read_text()
    (tmp_path / "mine.py").unlink()
    report = run("report", "mine-subject.mutiny", "--json", tmp_path / "c")
    assert report.code == 0
    assert report.out == first.out[: first.out.index(" Kept in")]
    assert (tmp_path / "c").read_text() == (tmp_path / "a").read_text()
    status = run("status", "mine-subject.mutiny")
    assert f"{verb} blobs" in status.out
    assert "finished" in status.out


def test_one_file_has_campaigns_of_several_verbs(run, write, tmp_path):
    for verb in OPTIONS:
        assert run(*line(verb, write(SUBJECT)), "--quiet").code == 0
    status = run("status", "mine-subject.mutiny").out
    assert [verb for verb in OPTIONS if f"{verb} blobs" in status] == list(OPTIONS)
    assert list(OPTIONS)[-1] == "compare"
    assert "B is A" in run("report", "mine-subject.mutiny").out


def test_a_word_is_no_folder_of_that_name(run, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test").mkdir()
    assert run("select", write(SUBJECT), "--pool", "test", "--quiet").code == 0
    with SqliteStore(tmp_path / "mine-subject.mutiny", write=False) as store:
        assert [each.command["arguments"]["pool"] for each in store.campaigns()] == ["test"]


def test_names_with_brackets_are_shown_whole(run, write):
    subject = write(SUBJECT.replace('"blobs"', '"blobs[old]"'))
    told = run("select", subject, "--store", "runs[old].mutiny")
    assert told.code == 0, told.err
    assert "Kept in 'runs[old].mutiny';" in told.out
    told = run("report", "runs[old].mutiny", "-o", "page[old].html")
    assert told.out == " The report is in 'page[old].html'.\n"
    told = run("assess", "--method", "muff", subject, "--operators", "WI", "--dry-run")
    assert "blobs[old], 1 original: " in told.out


def test_nothing_is_kept_if_nobody_wants_it(run, write, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    told = run("select", write(SUBJECT), "--no-store")
    assert told.code == 0
    assert "Kept in" not in told.out
    assert not list(folder.iterdir())


@pytest.mark.parametrize("verb", OPTIONS)
def test_what_was_interrupted_is_resumed(run, write, tmp_path, monkeypatch, verb):
    words = [*line(verb, write(STOPPED)), "--batch-size", "64", "--json", tmp_path / "a"]
    monkeypatch.setenv("LEFT", "1000000")
    undisturbed = run(*words, "--no-store")
    assert undisturbed.code == 0
    alone = untimed(tmp_path / "a")
    (tmp_path / "a").unlink()
    monkeypatch.setenv("LEFT", str((10**6 - int(os.environ["LEFT"])) * 2 // 3))
    stopped = run(*words, "--store", tmp_path / "x.mutiny")
    assert stopped.code == 3, stopped
    told = re.search(r"Resume with: mutiny (resume .*)", stopped.err)[1]
    assert told == f"resume {tmp_path / 'x.mutiny'} --json {tmp_path / 'a'}"
    assert not (tmp_path / "a").exists()
    monkeypatch.setenv("LEFT", "1000000")
    assert run(*shlex.split(told), "--quiet").code == 0
    assert untimed(tmp_path / "a") == alone
    again = run("resume", tmp_path / "x.mutiny")
    assert again.code == 2
    assert "all in it are finished" in again.err
