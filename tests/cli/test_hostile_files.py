"""Commands on files that someone made on purpose: one sentence, exit code 2."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

import mutiny
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.sealing import seal
from mutiny.campaigns.stores.sqlite import SqliteStore
from reports.page.handmade import rated
from toys import blob_subject

COMMAND = {"verb": "select", "arguments": {"subject": "digits", "seed": 0}, "folder": "/"}


@pytest.fixture(scope="module")
def selection():
    return mutiny.select(blob_subject(1, name="blobs"), "deepgini", budget=5)


@pytest.fixture
def store(tmp_path):
    """Writes a store with one campaign, and its result if there is one."""

    def write(result=None, command=None, **changed):
        path = tmp_path / "a.mutiny"
        with SqliteStore(path) as made:
            made.open(Campaign("c1", "select", "blobs", {"seed": 0}, command=command, **changed))
            if result is not None:
                made.finish("c1", result)
        return path

    return write


def refused(ran, *words):
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err


COMMANDS = [("status",), ("report",), ("report", "-o", "page.html"), ("resume",), ("resume", "--salvage")]


@pytest.mark.parametrize("command", COMMANDS[1:3], ids=" ".join)
@pytest.mark.parametrize(
    "changes",
    [{"rankings": ()}, {"notes": (5,)}, {"settings": {"seed": "x"}}, {"subject": None}, {"references": {"a": {}}}],
    ids=str,
)
def test_a_result_whose_values_contradict_each_other_is_refused(run, store, selection, command, changes):
    path = store(replace(selection, **changes))
    refused(run(command[0], path, *command[1:]), f"FILE={path}: expected")


@pytest.mark.parametrize("command", COMMANDS[1:4], ids=" ".join)
@pytest.mark.parametrize(
    "changes",
    [
        {"verb": "dance"},
        {"verb": ["select"]},
        {"arguments": None},
        {"arguments": {}},
        {"arguments": {"subject": 5}},
        {"arguments": {"subject": "digits", "budget": [1]}},
        {"arguments": {"subject": "digits", "json": {"path": 5}}},
        {"arguments": {"subject": "digits", "seed": "0"}},
        {"folder": 7},
    ],
    ids=str,
)
def test_a_command_that_mutiny_never_stored_is_refused(run, store, selection, command, changes):
    finished = command[0] == "report"
    path = store(selection if finished else None, {**COMMAND, **changes})
    refused(run(command[0], path, *command[1:]), "expected a campaign whose command this version knows. In it, ")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_what_takes_too_much_memory_is_refused_and_read_with_a_limit_that_allows_it(run, store, tmp_path, command):
    path = store()
    with closing(sqlite3.connect(path)) as connection, connection:
        body = seal(Campaign("c1", "select", "blobs", refused="a" * 6_000_000), {"what": "campaign", "campaign": "c1"})
        connection.execute("UPDATE campaigns SET body = ?", (body,))
    ran = run(command[0], path, *command[1:], "--limit", "10MB")
    assert ran.code == 2
    assert "at most 10.0MB in memory, but it takes more" in ran.err
    assert "--limit 40.0MB, or MUTINY_LIMIT=40.0MB in the environment" in ran.err
    assert "in memory" not in run(command[0], path, *command[1:], "--limit", "40.0MB").err


def test_the_limit_of_the_environment_counts_and_is_left_as_it_was(run, store, monkeypatch):
    path = store()
    monkeypatch.setenv("MUTINY_LIMIT", "1kB")
    refused(run("status", path), "at most 1.0kB in memory")
    assert run("status", path, "--limit", "1MB").code == 0
    refused(run("status", path), "at most 1.0kB in memory")
    refused(run("status", path, "--limit", "lots"), "--limit='lots': expected a size such as 500MB or 64GB.")


def test_a_store_does_not_keep_the_limit_that_it_was_written_with(run, write):
    own = write("subject = blob_subject(1)")
    assert run("select", own, "--method", "deepgini", "-q", "--store", "a.mutiny", "--limit", "1TB").code == 0
    with SqliteStore("a.mutiny", write=False) as store:
        assert "limit" not in store.campaigns()[0].command["arguments"]


@pytest.mark.parametrize(
    "text",
    ["[" * 900 + "]" * 900, "1" * 100_001, "1e999", "{" * 100_000, '{"a":' * 200 + "0" + "}" * 200, "NaN", '"\\ud800"'],
    ids=lambda text: text[:3],
)
def test_json_that_mutiny_never_wrote_gets_a_sentence(run, tmp_path, selection, text):
    path = tmp_path / "a.json"
    for place in ("rankings", "settings", "timing", "new"):
        path.write_text(json.dumps({**selection.to_json(), place: "HERE"}).replace('"HERE"', text))
        for more in ((), ("-o", "page.html")):
            ran = run("report", path, *more)
            assert ran.code == 0 or ran.err.startswith(f"mutiny: FILE={path}: expected")


def test_small_json_that_takes_much_memory_is_refused(run, tmp_path):
    (tmp_path / "a.json").write_text('{"a":[' + "[]," * 100_000 + "0]}")
    refused(run("report", tmp_path / "a.json", "--limit", "10MB"), "at most 10.0MB in memory")


def test_against_a_store_that_someone_made_is_a_sentence(run, write, store, selection):
    path = store(replace(selection, settings=()))
    own = write("subject = blob_subject(1)")
    refused(run("assess", own, "--against", path), f"--against={path}: expected")


@pytest.mark.parametrize("long", ["a" * 300, "a" * 5000, "a/" * 3000], ids=len)
@pytest.mark.parametrize(
    "command",
    [
        ("status", "LONG"),
        ("report", "LONG"),
        ("resume", "LONG"),
        ("select", "digits", "--pool", "LONG"),
        ("strengthen", "digits", "--pool", "LONG"),
        ("select", "digits", "--store", "LONG"),
        ("select", "digits", "--json", "LONG"),
        ("select", "mnist", "--data", "LONG"),
        ("select", "LONG.py:subject"),
    ],
    ids=" ".join,
)
def test_paths_that_are_too_long_get_a_sentence(run, command, long):
    refused(run(*(word.replace("LONG", long) for word in command)), "expected")


@pytest.mark.parametrize("more", [(), ("-o", "page.html")], ids=["text", "page"])
def test_an_operator_with_other_bins_than_the_notice_is_shown(run, tmp_path, more):
    told = rated({"GF": [(0.6, True), (1.5, False)], "WI": [(3.0, True), (5.0, False)]}).to_json()
    del told["notice"]["operators"]["WI"]["bins"][1:]
    (tmp_path / "a.json").write_text(json.dumps(told))
    assert run("report", tmp_path / "a.json", *more).code == 0
