"""Names in files and messages of exceptions drive no terminal, no page and no CI server, and begin no line."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from torch import nn

import mutiny
import toys
from mutiny.core.printable import UNPRINTABLE
from mutiny.reports.junit import junit_xml
from mutiny.reports.markdown import markdown_summary

EVIL = "S\x1b[2J\x1b]0;owned\x07\u202egnp\u2066\u200b\x9b31m\x7f\rX\nnote all tests pass"
SETS = {"test": (120, 1), "validation": (150, 2), "pool": (100, 3), "train": (240, 0)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Stores of a subject with a hostile name, whose model has one, too."""
    folder = tmp_path_factory.mktemp("hostile")
    model = toys.classifier()
    model.__class__ = type(EVIL, (nn.Sequential,), {})
    sets = {name: toys.blobs(size, seed=seed) for name, (size, seed) in SETS.items()}
    subject = mutiny.Subject(model, task=mutiny.Classification(3), name=EVIL, **sets)
    result = mutiny.assess(subject, "GF,NEB", seeds=1, store=folder / "assess")
    (folder / "result.json").write_text(json.dumps(result.to_json()))
    mutiny.assess(subject, "WI(ratio=0.3)", method="muff", store=folder / "muff")
    mutiny.select(subject, "deepgini", 5, store=folder / "select")
    mutiny.strengthen(subject, budget=5, operators="NEB", seeds=1, store=folder / "strengthen")
    mutiny.locate(subject, k=3, store=folder / "locate")
    mutiny.repair(subject, "search(generations=2)", store=folder / "repair")
    mutiny.attack(subject, "pgd(iterations=2)", low=-9, high=9, mutants=0, count=20, store=folder / "attack")
    return folder, result


def check(text):
    assert not UNPRINTABLE.search(text)
    assert not [line for line in text.splitlines() if line.lstrip().startswith("note all tests pass")]


VERBS = ["assess", "muff", "select", "strengthen", "locate", "repair", "attack"]


@pytest.mark.parametrize("verb", VERBS)
def test_terminal(run, files, verb):
    for command in ("status", "report"):
        ran = run(command, files[0] / verb)
        assert ran.code == 0
        assert "x1b[2J" in ran.out
        check(ran.out + ran.err)


def test_terminal_of_a_json_file(run, files):
    check(run("report", files[0] / "result.json").out)


@pytest.mark.parametrize("verb", ["assess", "muff", "select", "strengthen", "locate"])
def test_page(run, files, verb, tmp_path):
    assert run("report", files[0] / verb, "--out", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text()
    assert not UNPRINTABLE.search(page)
    assert "x1b[2J" in page


def test_junit_markdown_and_notebook(files):
    result = replace(files[1], notes=(EVIL,))
    for text in (junit_xml(result), markdown_summary(result), result._repr_html_()):
        assert not UNPRINTABLE.search(text)
        assert "x1b" in text
    check(repr(result))


def test_names_of_files(run, files, tmp_path):
    evil = tmp_path / EVIL.replace("/", "")
    shutil.copy(files[0] / "select", evil)
    for typed in (["status", evil], ["report", evil], ["resume", evil], ["report", evil, "--out", f"{evil}.html"]):
        ran = run(*typed)
        assert ran.code in (0, 2)
        check(ran.out + ran.err)


@pytest.mark.parametrize("where", ["file", "forward"])
def test_exceptions_of_a_subject(run, write, where):
    raising = f"raise ValueError({EVIL!r})"
    body = {
        "file": raising,
        "forward": f"def f(model, x): {raising}\nsubject = blob_subject(1, forward=f)",
    }[where]
    ran = run("select", write(body), "--budget", "5", "--no-store")
    assert ran.code == 2
    assert "x1b" in ran.err
    check(ran.err)


def test_completion_offers_no_name_that_would_drive_the_shell(tmp_path, monkeypatch):
    from mutiny.cli.completion import subjects

    monkeypatch.chdir(tmp_path)
    Path("good.py").write_text("subject = Subject()")
    Path("b\x1b[2J.py").write_text("subject = Subject()")
    assert [name for name in subjects("") if ".py" in name] == ["good.py:subject"]
