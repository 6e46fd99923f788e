"""`mutiny assess --judge` as a user sees it."""

from __future__ import annotations

import json

import pytest

from mutiny.campaigns.stores.sqlite import SqliteStore

SUBJECT = """
from verbs.assess.found import subject as separated

subject = separated()
"""
CHECKS = """
def acceptable(predict, test):
    return (predict(test).argmax(1).numpy() == test.targets).mean() >= 0.75
"""
FAST = ("--operators", "GF", "--seeds", "2")


@pytest.fixture
def checks(tmp_path):
    """A file with a function that judges."""
    (tmp_path / "checks.py").write_text(CHECKS)
    return tmp_path / "checks.py"


def test_judges_are_shown_side_by_side_and_the_first_one_decides(run, write, checks, tmp_path):
    json_file, judges = tmp_path / "result.json", ("--judge", "drop <= 3pt", "--judge", f"{checks}:acceptable")
    told = run("assess", write(SUBJECT), *FAST, *judges, "--json", json_file)
    assert told.code == 0
    assert 'gate "drop <= 3pt" on 300 tests' in " ".join(told.out.split())
    assert "At `drop <= 3pt` you let" in told.out
    tables = told.out.partition("What to do next")[0]  # commands are not broken within a path
    assert max(map(len, tables.splitlines())) <= 80
    result = json.loads(json_file.read_text())
    assert [record["judge"] for record in result["judges"]] == ["drop <= 3pt", "checks.py:acceptable", "paired"]
    assert result["settings"]["judges"] == ["drop <= 3pt", "checks.py:acceptable", "paired"]


def test_the_bar_is_that_of_the_first_judge(run, write):
    weak = ("--judge", "accuracy >= 0.4", "--judge", "paired", "--fail-under", "0.9", "--strict", "-q")
    assert run("assess", write(SUBJECT), *FAST, *weak).code == 1


def test_a_campaign_with_judges_is_resumed_and_names_the_files_that_it_imports(run, write, checks, tmp_path):
    judges = ("--judge", "drop <= 3pt", "--judge", f"{checks}:acceptable", "--false-alarms", "0.05")
    first, again = tmp_path / "first.json", tmp_path / "again.json"
    assert run("assess", write(SUBJECT), *FAST, *judges, "--json", first, "-q").code == 0
    with SqliteStore("mine-subject.mutiny") as store:
        store._connection.execute("DELETE FROM outcomes")
    told = run("resume", "mine-subject.mutiny", "--json", again)
    assert told.code == 0
    assert str(checks) in told.err.partition("imports")[2].splitlines()[0]
    plain = [json.loads(file.read_text()) for file in (first, again)]
    assert plain[0]["judges"] == plain[1]["judges"]
    assert plain[0]["faults"] == plain[1]["faults"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--judge", "accuracy >> 0.9"), 'mutiny: --judge="accuracy >> 0.9": expected a number at column 11'),
        (("--judge", "paried"), "mutiny: --judge='paried': expected paired, kill-rule, a gate such as"),
        (("--judge", "accuracy >= 0.999"), "expected a gate that original 1 passes, but accuracy"),
        (("--judge", "mae <= 0.1"), "expected a metric of classification, not mae"),
        (("--judge", "paired", "--false-alarms", "0.05"), "mutiny: --false-alarms=0.05: expected a gate among the"),
    ],
)
def test_wrong_judges_end_with_a_sentence(run, write, options, told):
    ended = run("assess", write(SUBJECT), *FAST, *options, "--no-store")
    assert ended.code == 2
    assert told in ended.err
    assert not ended.out


def test_a_judge_belongs_to_the_notice_rate(run, write):
    ended = run("assess", write(SUBJECT), "--judge", "drop <= 1pt", "--method", "muff", "--no-store")
    assert ended.code == 2
    assert "--judge=drop <= 1pt: expected only with --method notice" in ended.err
