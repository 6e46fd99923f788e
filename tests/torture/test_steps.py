"""The driver that injects faults at every step, and that it finds bugs which are planted."""

import os
import sys

import pytest
from torture.lab import Lab
from torture.steps import case
from torture.steps.case import driven
from torture.watching import Lost

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")


def tried(*options, **environment):
    """What was not survived, and the counts."""
    *problems, counts = driven(options, {**os.environ, **environment})
    return problems, counts


def test_half_a_result_in_the_store_is_found(tmp_path):
    where = ["--kind", "statements", "--campaign", "select", "--fault", "death", "--place", "after execute INSERT OR"]
    problems, counts = tried(*where, "--plant", "half-saved", MUTINY_KEY=str(tmp_path / "key"))
    assert counts["points"] >= 3
    assert any("half a result is stored" in line["problem"] for line in problems)


def test_faults_at_these_statements_are_survived(tmp_path):
    where = ["--kind", "statements", "--campaign", "select", "--fault", "death", "--place", "after execute INSERT OR"]
    problems, counts = tried(*where, MUTINY_KEY=str(tmp_path / "key"))
    assert counts["points"] >= 3
    assert problems == []


@pytest.mark.slow
def test_a_patch_that_stays_is_found(tmp_path):
    where = ["--kind", "jobs", "--campaign", "select", "--fault", "memory", "--every", "4"]
    problems, _ = tried(*where, "--plant", "not-undone", MUTINY_KEY=str(tmp_path / "key"))
    assert any("was changed at" in line["problem"] for line in problems)


@pytest.mark.slow
def test_an_error_that_is_swallowed_is_found(tmp_path):
    where = ["--kind", "statements", "--campaign", "select", "--fault", "full", "--place", "INSERT OR REPLACE INTO res"]
    problems, _ = tried(*where, "--plant", "swallowed", MUTINY_KEY=str(tmp_path / "key"))
    assert problems


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps", [case.STORE_CALLS, case.STATEMENTS, case.SYSTEM_CALLS, case.JOBS], ids=lambda made: made.kind
)
def test_cases_hold(steps, tmp_path):
    try:
        count, checked = steps.run(Lab(tmp_path, quick=True))
    except Lost as error:
        pytest.fail(str(error))
    assert count > 0 or "needs" in checked
