"""Commands whose campaign file is lost while they run, or was copied without its log."""

import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer import Exit

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.command import COMMANDS, VerbCommand

SUBJECT = """
import os, pathlib

def forward(model, x):
    left = int(os.environ["LEFT"]) - 1
    os.environ["LEFT"] = str(left)
    if not left:
        pathlib.Path("x.mutiny").unlink()
    return model(x)

subject = mutiny.Subject([classifier(seed) for seed in range(3)], task=mutiny.Classification(3), train=blobs(),
                         test=blobs(120, seed=1), name="blobs", forward=forward)
"""
QUICK = ("--method", "muff", "--operators", "WI", "--precision", "0.05", "--k-max", "2", "--batch-size", "64")


def untimed(path):
    return {name: value for name, value in json.loads(Path(path).read_text()).items() if name != "timing"}


@pytest.mark.parametrize("when", [0.1, 0.8])
def test_a_campaign_whose_file_is_deleted_ends_with_3_and_goes_on_from_the_copy(run, write, monkeypatch, when):
    command = ("assess", write(SUBJECT), *QUICK)
    monkeypatch.setenv("LEFT", "1000000")
    assert run(*command, "--no-store", "-q", "--json", "whole.json").code == 0
    passes = 1_000_000 - int(os.environ["LEFT"])
    monkeypatch.setenv("LEFT", str(int(when * passes)))
    told = run(*command, "--store", "x.mutiny", "--json", "a.json")
    assert told.code == 3
    assert "it was deleted or moved. All of it is now in" in told.err
    assert not Path("a.json").exists()
    line = re.search(r"Resume with: mutiny (.*)", told.err)[1]
    assert line == "resume x-rescued.mutiny --json a.json"
    monkeypatch.setenv("LEFT", "1000000")
    assert run(*shlex.split(line), "-q").code == 0
    assert untimed("a.json") == untimed("whole.json")
    assert when == 0.1 or 1_000_000 - int(os.environ["LEFT"]) < passes


def test_a_result_is_shown_although_its_file_was_lost_at_the_very_end(run, capsys):
    def assess(invocation):
        with invocation.running() as runtime:
            runtime["store"].open(Campaign("c1", "assess", "blobs"))
            runtime["store"].finish("c1", None)
            Path("x.mutiny").unlink()
        invocation.show("the result")

    command = VerbCommand(assess, frozenset(), COMMANDS["assess"].parameters, {})
    with pytest.raises(Exit) as caught:
        command.run({"subject": "digits", "store": Path("x.mutiny")})
    assert caught.value.exit_code == 3
    out, err = capsys.readouterr()
    assert "the result" in out
    assert "Kept in x-rescued.mutiny" in out
    assert "it was deleted or moved" in err
    assert "Resume" not in err


def test_an_interrupt_after_the_loss_names_the_copy(run, capsys):
    def assess(invocation):
        with invocation.running() as runtime:
            runtime["store"].open(Campaign("c1", "assess", "blobs"))
            Path("x.mutiny").unlink()
            raise KeyboardInterrupt

    command = VerbCommand(assess, frozenset(), COMMANDS["assess"].parameters, {})
    with pytest.raises(Exit) as caught:
        command.run({"subject": "digits", "store": Path("x.mutiny")})
    assert caught.value.exit_code == 3
    assert "Resume with: mutiny resume x-rescued.mutiny" in capsys.readouterr().err


@pytest.fixture
def incomplete():
    """A copy of a file that is being written, without its log."""
    with SqliteStore("x.mutiny") as store:
        store.open(Campaign("c1", "assess", "blobs"))
    with SqliteStore("x.mutiny") as store:
        store.save("c1", JobResult(Job("probe", (1,)), 1))
        shutil.copyfile("x.mutiny", "copy.mutiny")
    return "copy.mutiny"


@pytest.mark.filterwarnings("default:copy.mutiny was copied")
def test_commands_say_that_a_copy_has_no_log(run, incomplete, write, monkeypatch):
    told = "copy.mutiny was copied without its log, copy.mutiny-wal"
    for command in ("status", "resume", "report"):
        ran = run(command, incomplete)
        assert f"mutiny: {told}" in ran.err, command
    assert f"mutiny: {told}" in run("report", incomplete, "-o", "page.html").err
    for command in ("status", "report"):
        assert told not in run(command, "x.mutiny").err
    monkeypatch.setenv("LEFT", "0")
    for expected in (True, False):  # by then it is complete again
        assert (told in run("assess", write(SUBJECT), *QUICK, "--store", incomplete, "-q").err) is expected
