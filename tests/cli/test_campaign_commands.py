"""``mutiny resume``, ``status`` and ``report``, as a user sees them."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

SUBJECT = """
subject = mutiny.Subject([classifier(seed) for seed in range(3)], task=mutiny.Classification(3), train=blobs(),
                         test=blobs(120, seed=1), name="blobs")
"""
SLOW = """
import time

def forward(model, x):
    time.sleep(0.01)
    return model(x)

subject = mutiny.Subject([classifier(seed) for seed in range(3)], task=mutiny.Classification(3), train=blobs(),
                         test=blobs(120, seed=1), name="slow", forward=forward)
"""
QUICK = ("--operators", "WI,GF", "--precision", "0.05", "--k-max", "2")


def untimed(path):
    found = json.loads(path.read_text())
    found.pop("timing")
    return found


def test_a_finished_campaign_is_shown_again(run, write, tmp_path):
    first = run("assess", write(SUBJECT), *QUICK, "--json", tmp_path / "a")
    assert first.code == 0
    assert "Kept in mine-subject.mutiny" in first.out
    second = run("assess", write(SUBJECT), *QUICK, "--json", tmp_path / "b")
    assert second.code == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_report_and_status_need_nothing_but_the_file(run, write, tmp_path):
    shown = run("assess", write(SUBJECT), *QUICK, "--store", tmp_path / "x.mutiny", "--json", tmp_path / "a").out
    (tmp_path / "mine.py").unlink()
    report = run("report", tmp_path / "x.mutiny", "--json", tmp_path / "b")
    assert report.code == 0
    assert report.out.split() == shown.split()[: len(report.out.split())]
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    status = run("status", tmp_path / "x.mutiny")
    assert status.code == 0
    assert "assess blobs" in status.out
    assert "finished" in status.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("resume", "none.mutiny"), "expected the file of a campaign"),
        (("status", "none.mutiny"), "expected the file of a campaign"),
        (("report", "none.mutiny"), "expected the file of a campaign"),
    ],
)
def test_a_file_that_is_not_there(run, arguments, told):
    ran = run(*arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_that_is_no_store(run, tmp_path):
    (tmp_path / "a.mutiny").write_text("precious")
    for command in ("status", "resume", "report"):
        ran = run(command, tmp_path / "a.mutiny")
        assert ran.code == 2
        assert ran.err.startswith("mutiny: ")
        assert ran.err.count("\n") == 1
    assert (tmp_path / "a.mutiny").read_text() == "precious"


def test_nothing_is_left_to_resume(run, write, tmp_path):
    run("assess", write(SUBJECT), *QUICK, "--store", tmp_path / "x.mutiny", "-q")
    ran = run("resume", tmp_path / "x.mutiny")
    assert ran.code == 2
    assert "all in it are finished" in ran.err
    assert "mutiny report" in ran.err


def test_a_campaign_begun_in_python_says_how_to_go_on(run, tmp_path):
    from mutiny.stores.base import Campaign
    from mutiny.stores.sqlite import SqliteStore

    with SqliteStore(tmp_path / "x.mutiny") as store:
        store.open(Campaign("1", "assess", "blobs"))
    ran = run("resume", tmp_path / "x.mutiny")
    assert ran.code == 2
    assert "mutiny.assess(..., store=" in ran.err


def started(folder, *arguments):
    """The real command, in a folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, ""]), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "mutiny", *map(str, arguments)], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_with_3_and_is_resumed_from_another_folder(run, write, tmp_path, number):
    subject = write(SLOW)
    undisturbed = run("assess", subject, *QUICK, "--no-store", "-q", "--json", tmp_path / "whole")
    assert undisturbed.code == 0
    work = tmp_path / "work"
    work.mkdir()
    file = work / "x.mutiny"
    command = started(work, "assess", "../mine.py:subject", *QUICK, "--store", "x.mutiny", "--json", "../a")
    until(lambda: file.exists() and "probe" in run("status", file).out)
    running = run("status", file)
    assert f"running: mutiny (process {command.pid})" in running.out
    busy = run("assess", subject, *QUICK, "--store", file)
    assert busy.code == 2
    assert str(command.pid) in busy.err
    command.send_signal(number)
    _, told = command.communicate(timeout=60)
    assert command.returncode == 3
    assert "finishing what is under way" in told
    assert "Go on with: mutiny resume x.mutiny" in told
    assert not (tmp_path / "a").exists()
    assert "interrupted" in run("status", file).out
    assert run("resume", file, "-q").code == 0
    assert untimed(tmp_path / "a") == untimed(tmp_path / "whole")
