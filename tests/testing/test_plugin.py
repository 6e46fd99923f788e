"""The pytest plugin as its users have it: in a test suite of their own, in a process of its own."""

import os
import re
import runpy
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import toys
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput, StoreBusy
from mutiny.reports.markdown import markdown_summary
from mutiny.testing.gate import (
    UndecidedWarning,
    assert_mutation_score,
    assert_notice_rate,
    kept,
    notice_failure,
    score_failure,
)
from reports.page.handmade import KILLED, SURVIVED, assessment, operator, rated

SUITE = """
import torch
from torch import nn

import mutiny


def subject(easy=True):
    x = torch.randn(2100, 4, generator=torch.Generator().manual_seed(0))
    y = (x.sum(1) > 0).long()
    net = nn.Linear(4, 2).eval()
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4]))
        net.bias.zero_()
    some = x[2000:][x[2000:].sum(1).abs() > 2 * easy]
    test = (some, (some.sum(1) > 0).long())
    return mutiny.Subject(net, task=mutiny.Classification(2), train=(x[:2000], y[:2000]), test=test, name="linear")


def test_low(assert_mutation_score):
    assert assert_mutation_score(subject(), at_least=0.0, operators="WI(ratio=0.5)").score.value < 1


def test_high(assert_mutation_score):
    assert_mutation_score(subject(), at_least=1.0, operators="WI(ratio=0.5)")


QUICK = {"operators": "GF", "seeds": 4}


def test_low_rate(assert_notice_rate):
    assert 0 < assert_notice_rate(subject(False), at_least=0.0, strict=True, **QUICK).notice.rate < 1


def test_high_rate(assert_notice_rate):
    assert_notice_rate(subject(), at_least=1.0, **QUICK)


def test_undecided_rate(assert_notice_rate):
    rate = assert_notice_rate(subject(False), at_least=0.0, **QUICK).notice.rate
    assert_notice_rate(subject(False), at_least=rate, **QUICK)


def test_undecided_strict_rate(assert_notice_rate):
    rate = assert_notice_rate(subject(False), at_least=0.0, **QUICK).notice.rate
    assert_notice_rate(subject(False), at_least=rate, strict=True, **QUICK)
"""


def pytest_in(folder):
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=folder, capture_output=True, text=True, timeout=200, check=False, env=quiet,
    )  # fmt: skip


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("suite")
    Path(folder, "test_mine.py").write_text(SUITE)
    return folder, pytest_in(folder)


def test_it_passes_fails_and_warns(ran):
    _, done = ran
    assert done.returncode == 1, done.stdout + done.stderr
    assert "3 failed, 3 passed, 1 warning" in done.stdout
    failed = re.findall(r"^FAILED test_mine.py::(\w+)", done.stdout, re.MULTILINE)
    assert failed == ["test_high", "test_high_rate", "test_undecided_strict_rate"]
    warned = done.stdout[done.stdout.index("warnings summary") :]
    assert "test_mine.py::test_undecided_rate" in warned
    assert "UndecidedWarning: cannot tell whether the notice rate is at least" in warned


def errors(done, test):
    """The lines of the message with which a test failed."""
    (part,) = re.findall(rf"_+ {test} _+\n(.*?)\n(?=_{{9}}|=)", done.stdout, re.DOTALL)
    return [line for line in part.splitlines() if line.startswith("E ")]


def test_a_failure_says_what_the_tests_miss_and_nothing_of_our_code(ran):
    _, done = ran
    (first, *rest) = errors(done, "test_high")
    assert "AssertionError: mutation score" in first
    assert "is below 100.0%" in first
    assert any("WI(ratio=0.5) (weight inhibitor), score" in line for line in rest)
    for test in ("test_high", "test_high_rate", "test_undecided_strict_rate"):
        assert "mutiny report" in errors(done, test)[-1]
        assert "linear.mutiny" in errors(done, test)[-1]
    (first, second, *_) = errors(done, "test_high_rate")
    assert "AssertionError: the notice rate is below 100%: " in first
    assert "tests notice" in second
    assert "AssertionError: cannot tell whether" in errors(done, "test_undecided_strict_rate")[0]
    assert "testing/gate.py:" not in done.stdout


def test_what_was_computed_is_looked_up(ran):
    """A store that is read by another process, not written again: the same results, and not one task more."""
    folder, _ = ran
    store, suite = folder / ".mutiny" / "linear.mutiny", runpy.run_path(str(folder / "test_mine.py"))

    def results():
        with closing(sqlite3.connect(store)) as file:
            return file.execute("select count(*) from results").fetchone()

    before = results()
    assert before[0] > 0
    suite["test_low"](partial(assert_mutation_score, store=store))
    suite["test_low_rate"](partial(assert_notice_rate, store=store))
    assert results() == before


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"at_least": 80}, "at_least=80: expected a share between 0 and 1. Write 0.8 for 80%."),
        ({"at_least": "80%"}, "at_least='80%': expected a share between 0 and 1"),
        ({"at_least": None}, "at_least=None"),
        ({"subject": 3}, r"subject=3: expected a mutiny\.Subject, or its name"),
        ({"subject": "zzz"}, "^subject='zzz': expected a built-in"),
        ({"subject": toys.classifier(0)}, r"expected a mutiny\.Subject, or its name"),
        ({"store": "file/x.mutiny"}, "a file in a folder that can be made"),
        ({"method": "muff"}, "assert_notice_rate is for the method notice, assert_mutation_score for the method muff"),
    ],
    ids=["80", "80%", "none", "subject", "name", "model", "store", "method"],
)
@pytest.mark.parametrize("function", [assert_mutation_score, assert_notice_rate], ids=["score", "rate"])
def test_what_cannot_be_gets_a_sentence(function, arguments, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match=told):
        function(**{"subject": "digits", "at_least": 0.8, "store": "x.mutiny", **arguments})


def test_an_undecided_rate_warns_or_fails(tmp_path):
    quick = {"operators": "GF", "seeds": 3, "store": tmp_path / "x.mutiny"}
    subject = toys.blob_subject(1, validation=toys.blobs(300, seed=7))
    result = assert_notice_rate(subject, at_least=0.0, **quick)
    assert result.notice.interval.low < result.notice.rate < result.notice.interval.high
    with pytest.warns(UndecidedWarning, match="cannot tell whether") as warned:
        assert_notice_rate(subject, at_least=result.notice.rate, **quick)
    assert warned[0].filename == __file__
    with pytest.raises(AssertionError, match="cannot tell whether"):
        assert_notice_rate(subject, at_least=result.notice.rate, strict=True, **quick)


def test_the_message_about_a_rate_names_weak_spots_drastic_faults_and_failed_jobs():
    faults = {"GF": [(5.0, True)] * 8, "WI": [(5.0, False)] * 6 + [(20.0, False)] * 7, "LR": []}
    result = rated(faults, reasons={"LR": "the worker died"}, failed={"LR"})
    lines = notice_failure(result, "the notice rate is below 80%", Path("x.mutiny")).splitlines()
    assert lines[0] == "the notice rate is below 80%"
    assert any(line.startswith("  weak spot: of 6 faults of WI, none is noticed; 3 would be ") for line in lines)
    named = [line for line in lines if line.startswith("  drastic, yet missed: ")]
    assert named[-1] == "  drastic, yet missed: 2 more"
    assert len(named) == 6
    assert "  LR: the worker died" in lines
    assert lines[-1] == "  all of it: mutiny report x.mutiny --out report.html"


HOLD = """
import sys, time, pathlib
from mutiny.campaigns.stores.lock import Lock
lock = Lock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
time.sleep(1)
lock.release()
"""


def test_it_waits_for_another_worker_and_makes_folders(tmp_path):
    store, subject = tmp_path / "a" / "b" / "x.mutiny", toys.blob_subject(1)
    assert_mutation_score(subject, at_least=0, operators="NEB", store=store)
    with subprocess.Popen([sys.executable, "-c", HOLD, store], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        assert_mutation_score(subject, at_least=0, operators="NEB", store=store)


def test_it_does_not_wait_for_itself(tmp_path):
    with SqliteStore(tmp_path / "x.mutiny"), pytest.raises(StoreBusy):
        assert_mutation_score(toys.blob_subject(1), at_least=0, store=tmp_path / "x.mutiny")


def test_a_score_just_below_the_bar_does_not_look_like_it():
    just = assessment(operator("WI", {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}}, score=0.7995), interval=None)
    assert "mutation score 79.95% is below 80.00%" in score_failure(just, 0.8, Path("x.mutiny"))
    assert "mutation score 79.95% is below 99.90%" not in score_failure(just, 0.999, Path("x.mutiny"))
    told = markdown_summary(just, 0.8)
    assert "toy: 79.9" in told
    assert "the bar of 80.0" in told


def test_milder_is_not_always_less():
    epochs = operator("HNE", {"train": {5.0: KILLED}, "test": {3.0: KILLED, 5.0: SURVIVED}}, score=0.5)
    rising = assessment(epochs, interval=None)
    falling = assessment(replace(epochs, bounds=(19.0, 1.0)), interval=None)
    assert "test only 3 and more" in score_failure(rising, 0.8, Path("x.mutiny"))
    assert "test only 3 and less" in score_failure(falling, 0.8, Path("x.mutiny"))


def test_subjects_have_files_of_their_own():
    assert kept("a/b.py:c", Path("root")) == Path("root/.mutiny/b-c.mutiny")
