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
    result = json.loads(path.read_text())
    result.pop("timing")
    return result


def test_a_finished_campaign_is_shown_again(run, write, tmp_path):
    first = run("assess", "--method", "muff", write(SUBJECT), *QUICK, "--json", tmp_path / "a")
    assert first.code == 0
    assert "Kept in mine-subject.mutiny" in first.out
    second = run("assess", "--method", "muff", write(SUBJECT), *QUICK, "--json", tmp_path / "b")
    assert second.code == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_report_and_status_need_nothing_but_the_file(run, write, tmp_path):
    shown = run(
        "assess", "--method", "muff", write(SUBJECT), *QUICK, "--store", tmp_path / "x.mutiny", "--json", tmp_path / "a"
    ).out
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
        (("resume", "none.mutiny"), "expected a campaign file that exists."),
        (("status", "none.mutiny"), "expected a campaign file that exists."),
        (("report", "none.mutiny"), "expected a campaign file or a JSON result that exists."),
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
    run("assess", "--method", "muff", write(SUBJECT), *QUICK, "--store", tmp_path / "x.mutiny", "-q")
    ran = run("resume", tmp_path / "x.mutiny")
    assert ran.code == 2
    assert "all in it are finished" in ran.err
    assert "mutiny report" in ran.err


def test_a_campaign_begun_in_python_says_how_to_go_on(run, tmp_path):
    from mutiny.campaigns.stores.base import Campaign
    from mutiny.campaigns.stores.sqlite import SqliteStore

    with SqliteStore(tmp_path / "x.mutiny") as store:
        store.open(Campaign("1", "assess", "blobs"))
    ran = run("resume", tmp_path / "x.mutiny")
    assert ran.code == 2
    assert "mutiny.assess(..., store=" in ran.err


def test_results_never_replace_the_campaign_they_come_from(run, write, tmp_path):
    file = tmp_path / "x.mutiny"
    run("assess", "--method", "muff", write(SUBJECT), *QUICK, "--store", file, "-q")
    content = file.read_bytes()
    for command in (("report", file), ("assess", "--method", "muff", write(SUBJECT), *QUICK, "--store", file)):
        for option in ("--json", *(("--junit", "--summary") if command[0] == "assess" else ())):
            ran = run(*command, option, file)
            assert ran.code == 2
            assert "expected another file than that of" in ran.err
    assert file.read_bytes() == content


def test_a_name_does_not_depend_on_the_folder(run, write, tmp_path, monkeypatch):
    unnamed = SUBJECT.replace(', name="blobs"', "")
    subject = write(unnamed)
    run("assess", "--method", "muff", subject, *QUICK, "--store", tmp_path / "x.mutiny", "-q", "--json", tmp_path / "a")
    monkeypatch.chdir(tmp_path)
    run("assess", "--method", "muff", "mine.py:subject", *QUICK, "--store", "x.mutiny", "-q", "--json", "b")
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert json.loads((tmp_path / "a").read_text())["subject"]["name"] == "mine.py:subject"
    assert run("status", "x.mutiny").out.count("assess mine.py:subject") == 1


FAILING = """
import pathlib

class Moody(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = classifier(0)
        self.clean = self.inner[0].weight.detach().clone()

    def forward(self, x):
        changed = (self.inner[0].weight != self.clean).float().mean()
        if 0 < changed < 0.5 and not pathlib.Path("mood.txt").read_text():
            raise ValueError("not today")
        return self.inner(x)

subject = mutiny.Subject([Moody().eval()], task=mutiny.Classification(3), train=blobs(), test=blobs(120, seed=1),
                         name="moody")
"""


def test_a_result_with_failures_is_kept_shown_and_tried_again(run, write, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mood.txt").write_text("")
    file = tmp_path / "x.mutiny"
    operators = ("--operators", "WI,NEB(ratio=1.0)", "--max-probes", "2")
    assert run("assess", "--method", "muff", write(FAILING), *operators, "--store", file).code == 0
    report = run("report", file)
    assert report.code == 0
    assert "not today" in " ".join(report.out.split())
    status = run("status", file)
    assert "finished, " in status.out
    assert "Try again with: mutiny resume" in status.out
    (tmp_path / "mood.txt").write_text("fine")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)  # the subject reads a file of the folder in which the campaign was begun
    assert run("resume", file).code == 0
    assert "not today" not in " ".join(run("report", file).out.split())
    assert "failed" not in run("status", file).out


def test_what_is_asked_for_last_is_reported(run, write, tmp_path):
    file, subject = tmp_path / "x.mutiny", write(SUBJECT)
    for code in ("WI", "GF", "WI"):
        assert (
            run("assess", "--method", "muff", subject, "--operators", code, *QUICK[2:], "--store", file, "-q").code == 0
        )
        run("report", file, "--json", tmp_path / "last")
        (operator,) = json.loads((tmp_path / "last").read_text())["operators"]
        assert operator["code"] == code


def test_resume_says_that_the_subject_has_changed(run, write, tmp_path):
    from mutiny.campaigns.stores.sqlite import SqliteStore

    file = tmp_path / "x.mutiny"
    run("assess", "--method", "muff", write(SUBJECT), *QUICK, "--store", file, "-q")
    with SqliteStore(file) as store:  # as if it had been interrupted
        store._connection.execute("DELETE FROM outcomes")
    write(SUBJECT.replace("range(3)", "range(1, 4)"))
    ran = run("resume", file, "-q")
    assert ran.code == 0
    assert "the subject has changed since this campaign was started" in ran.err


@pytest.mark.parametrize(
    "options",
    [("--engine", "serial"), pytest.param(("--engine", "processes", "--workers", "1"), marks=pytest.mark.slow)],
)
def test_workers_give_the_same_answer_and_resume_does_without_them(run, write, tmp_path, options):
    from mutiny.campaigns.stores.sqlite import SqliteStore

    file, subject = tmp_path / "x.mutiny", write(SUBJECT)
    command = ("assess", "--method", "muff", subject, "--operators", "WI", *QUICK[2:], "-q", "--json", tmp_path / "a")
    assert run(*command, "--no-store").code == 0
    alone = untimed(tmp_path / "a")
    assert run(*command, "--store", file, "--workers", "2").code == 0
    assert untimed(tmp_path / "a") == alone
    (tmp_path / "a").unlink()
    with SqliteStore(file) as store:
        store._connection.execute("DELETE FROM outcomes")
    assert run("resume", file, "-q", "--json", tmp_path / "a", *options).code == 0
    assert untimed(tmp_path / "a") == alone


def test_an_empty_file_holds_no_campaign(run, tmp_path):
    (tmp_path / "a.mutiny").touch()
    for command in ("resume", "status", "report"):
        ran = run(command, tmp_path / "a.mutiny")
        assert ran.code == 2
        assert "it is empty" in ran.err
    assert (tmp_path / "a.mutiny").stat().st_size == 0


def started(folder, *arguments):
    """The real command, in a folder."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, ""]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mutiny", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, cwd=folder, env=environment, **pipes)


def until(condition, seconds=300):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.3)


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_ends_with_3_and_is_resumed_from_another_folder(run, write, tmp_path, number):
    subject = write(SLOW)
    quick = ("--operators", "WI", *QUICK[2:])
    undisturbed = run("assess", "--method", "muff", subject, *quick, "--no-store", "-q", "--json", tmp_path / "whole")
    assert undisturbed.code == 0
    work = tmp_path / "work"
    work.mkdir()
    file = work / "x.mutiny"
    command = started(
        work, "assess", "--method", "muff", "../mine.py:subject", *quick, "--store", "x.mutiny", "--json", "../a"
    )
    until(lambda: file.exists() and "probe" in run("status", file).out)
    running = run("status", file)
    assert f"running: mutiny (process {command.pid})" in running.out
    busy = run("assess", "--method", "muff", subject, *quick, "--store", file)
    assert busy.code == 2
    assert str(command.pid) in busy.err
    command.send_signal(number)
    _, told = command.communicate(timeout=60)
    assert command.returncode == 3
    assert "finishing running jobs" in told
    assert "Resume with: mutiny resume x.mutiny --json ../a\n" in told
    assert not (tmp_path / "a").exists()
    assert "interrupted" in run("status", file).out
    assert run("resume", file, "-q", "--json", tmp_path / "a").code == 0
    assert untimed(tmp_path / "a") == untimed(tmp_path / "whole")
