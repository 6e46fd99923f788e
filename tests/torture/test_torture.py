"""The suite of `make torture` itself: its cheap cases, a few times each, and that it can find something wrong."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from torture.lab import Lab
from torture.watching import Lost, no_orphans, results

from torture import kills, signals, writers

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    made = Lab(tmp_path_factory.mktemp("torture"), kills=2, quick=True)
    made.undisturbed()
    return made


@pytest.fixture
def finished(lab):
    """A copy of the undisturbed campaign."""
    campaign = lab.campaign()
    for name in ("a.mutiny", "a.json"):
        shutil.copyfile(lab.root / "1" / name, campaign.folder / name)
    campaign.check_equal(lab.undisturbed())
    campaign.check_once()
    campaign.check_tidy()
    return campaign


@pytest.mark.parametrize("case", [kills, writers, signals], ids=["kills", "writers", "signals"])
def test_cheap_cases_hold(case, lab):
    count, checked = case.run(lab)
    assert count >= 1
    assert "equal" in checked


def changed(store, statement):
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(statement)
        connection.commit()


def test_a_job_done_twice_is_noticed(finished):
    before = finished.standing()
    finished.check_once(before)
    changed(finished.store, "UPDATE wanted SET attempts = attempts + 1 WHERE task = 3")
    with pytest.raises(Lost, match="a job was done again"):
        finished.check_once(before)
    with pytest.raises(Lost, match="a job was started twice in one run"):
        finished.check_once()


def test_a_job_in_flight_may_be_started_again(finished):
    before = finished.standing()
    changed(finished.store, "DELETE FROM results WHERE task = 3")
    (job,) = finished.check_once()
    changed(finished.store, "UPDATE wanted SET attempts = attempts + 1 WHERE task = 3")
    assert finished.check_once((before[0], before[1] - {job})) == [job]


def test_a_lost_result_is_noticed(finished):
    before = results(finished.store)
    changed(finished.store, "DELETE FROM results WHERE task = 4")
    with pytest.raises(Lost, match="1 results are lost or changed"):
        finished.check_kept(before)


def test_another_answer_is_noticed(finished, lab):
    told = json.loads(finished.json.read_text())
    told["operators"][0]["mutants"][0]["p_value"] = 0.123
    finished.json.write_text(json.dumps(told))
    with pytest.raises(Lost, match="the result differs in operators"):
        finished.check_equal(lab.undisturbed())


def test_what_is_left_behind_is_noticed(finished):
    (finished.folder / ".a.json.part").touch()
    with pytest.raises(Lost, match="files were left behind"):
        finished.check_tidy()
    mark = {"TORTURE": finished.mark.partition("=")[2]}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env={**os.environ, **mark}) as left:
        with pytest.raises(Lost, match="processes were left behind"):
            no_orphans(finished.mark, seconds=1)
        assert left.wait(10) == -9
