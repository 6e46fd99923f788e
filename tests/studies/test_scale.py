"""The simulation of campaigns against what must hold whatever the numbers, and the measurement of an assessment."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.scale.assessment import AssessmentCosts, FaultJob, measure, read_jobs, write_jobs
from studies.scale.campaigns import WORKERS, Case, designs, fault_cases, fault_times, other_cases
from studies.scale.measuring import EngineCosts, SearchCosts
from studies.scale.page import Measured, write
from studies.scale.simulation import Costs, Load, simulate

from verbs.assess.found import subject

FREE = Costs(task=0, call=0, bandwidth=1e9, sent=0, returned=0, work=0, start=0)
JOBS = [
    *(FaultJob("WI", o, c, 100, 1.0 + o + c / 4, 1e-3, 190, 5000) for o in range(4) for c in range(2)),
    *(FaultJob("LA", o, c, 2 * (c == 0), 0.5 - c / 2, 1e-3, 190, 900) for o in range(4) for c in range(2)),
    *(FaultJob("", o, 0, 1, 0.25, 1e-3, 200, 700) for o in range(4)),
]
"""WI finds a hundred faults with every random choice; LA has a single choice."""
MEASURED = Measured(
    JOBS,
    AssessmentCosts("2000-01-01", "a network", 1.0, 8, 3.0, 4, 2e-4, 0.1, 0.02, 300_000_000, 6e3, 10_000_000),
    SearchCosts("2000-01-01", "a network", 1.0, 10, 1e6, 2e6, 1e4, 3e8),
    EngineCosts("2000-01-01", {"serial": 4e-4, "processes": 4e-4, "ray": 3e-4}, 3e-3, 1e-6, {"ray": 3000.0}, 2e-3, 5e8),
)


@pytest.mark.parametrize("load", [Load(7, 5, 1, 2.0), Load(3, 4, 6, 0.5), Load(1, 1, 50, 1.0)])
def test_one_worker_does_everything_and_many_do_the_longest_search(load):
    alone, crowd = (simulate(load.times(), FREE, workers) for workers in (1, load.chains * load.wide))
    assert alone.seconds == pytest.approx(alone.bounds["workers"])
    assert alone.busy == pytest.approx(1)
    assert crowd.seconds == pytest.approx(crowd.bounds["longest job" if load.steps == 1 else "longest search"])
    assert alone.bounds["workers"] == pytest.approx(load.tasks * load.seconds, rel=0.5)


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=40), st.integers(1, 50))
def test_independent_jobs_go_to_whoever_is_free_first(seconds, workers):
    free = [0.0] * workers
    for taken in seconds:
        place = free.index(min(free))
        free[place] += taken
    found = simulate(np.array(seconds)[None, None, :], FREE, workers)
    assert found.seconds == pytest.approx(max(free))
    assert found.before == pytest.approx(0)
    assert found.between == pytest.approx(0, abs=1e-9)
    assert found.after == pytest.approx(sum(max(free) - end for end in free) / (max(free) * workers), abs=1e-9)


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
@pytest.mark.parametrize("batch", [1, 8])
def test_nothing_is_faster_than_its_bounds_and_shares_are_of_the_whole(workers, batch):
    costs = Costs(0.01, 0.02, 1e6, 1e4, 2e4, 1e6, 3.0, batch, before=2.0, load=0.5)
    for load in (Load(10, 4, 2, 0.3), Load(2, 2, 30, 0.05)):
        found = simulate(load.times(), costs, workers)
        assert found.seconds >= max(found.bounds.values()) - 1e-9
        shares = (found.busy, found.before, found.between, found.after)
        assert sum(shares) == pytest.approx(1)
        assert all(-1e-9 <= share <= 1 for share in shares)
        assert found.before > 0


def test_whatever_precedes_the_first_job_delays_all_of_them():
    times = Load(1, 1, 30, 1.0).times()
    later = simulate(times, replace(FREE, before=4.0, start=2.0, load=1.0), 3)
    assert later.seconds == pytest.approx(7 + simulate(times, FREE, 3).seconds)
    clean = Case("", times, replace(FREE, before=4.0, start=2.0), passes=7, clean=0.5).on(3)
    assert clean.seconds == pytest.approx(4 + 2 + 3 * 0.5 + 2 + simulate(times, FREE, 3).seconds)
    checked = Case("", times, FREE, checked=7, preflight=0.5).on(3)
    assert checked.seconds == pytest.approx(3 * 0.5 + simulate(times, FREE, 3).seconds)


def test_a_driver_that_takes_long_is_the_limit():
    slow = replace(FREE, task=1.0)
    found = simulate(Load(1, 1, 100, 0.01).times(), slow, 50)
    assert found.limit == "driver"
    assert found.seconds == pytest.approx(100, rel=0.1)


def test_batches_pay_for_calls():
    calls, times = replace(FREE, call=0.1), Load(1, 1, 1000, 0.001).times()
    assert simulate(times, replace(calls, batch=64), 4).seconds < simulate(times, calls, 4).seconds / 5


def test_random_choices_are_added_until_there_are_enough_faults():
    times = fault_times(JOBS, 20_000).ravel()
    choices = round((20_000 - 4 * 100 - 4 * 2) / (4 * 100))
    wi, la, harmless = np.split(times, [4 * (1 + choices), 8 * (1 + choices)])
    assert set(wi.reshape(4, -1)[:, 0]) <= {1.0, 2.0, 3.0, 4.0}
    assert set(wi.reshape(4, -1)[:, 1:].ravel()) == {1.25, 2.25, 3.25, 4.25}
    assert la.sum() == 4 * 0.5  # the single choice of LA is tried once on each original
    assert harmless.tolist() == [0.25] * 4
    assert np.array_equal(fault_times(JOBS, 20_000, slower=3.0).ravel(), 3 * times)


def test_designs_that_are_not_built_are_faster_where_they_should_be():
    cases = fault_cases(JOBS, MEASURED.assessment, MEASURED.engines)
    usual, split, together = designs(cases["more, 100 x"], 5).values()
    assert split.bounds["longest job"] == pytest.approx(usual.bounds["longest job"] / 5)
    assert together.bounds["driver"] < usual.bounds["driver"]


def test_an_assessment_is_measured_job_by_job(tmp_path):
    costs, jobs = measure(subject(originals=2), "two lines", 2, 2, "GF,LA")
    found = [(job.operator, job.original, job.choice) for job in jobs if job.operator]
    assert found == [(label, original, choice) for label in ("GF", "LA") for original in (0, 1) for choice in (0, 1)]
    assert sum(job.faults for job in jobs if job.operator == "GF") > 4
    assert len(jobs) == 8 + 20  # harmless changes
    assert all(0 < job.sent < 1000 and 0 < job.returned < costs.work for job in jobs)
    assert (costs.passes, costs.checked) == (4, 2)
    assert costs.preflight > 0
    assert costs.planning > 0
    assert 0 < costs.kept < costs.file
    write_jobs(tmp_path / "jobs.csv", jobs)
    rounded = [replace(job, seconds=round(job.seconds, 4), driver=round(job.driver, 6)) for job in jobs]
    assert read_jobs(tmp_path / "jobs.csv") == rounded


def test_the_page_tells_of_every_campaign(tmp_path):
    text = write(MEASURED, tmp_path).read_text()
    cases = fault_cases(MEASURED.jobs, MEASURED.assessment, MEASURED.engines)
    others = other_cases(MEASURED.searches, MEASURED.engines)
    for case in (*cases.values(), *others.values()):
        assert f"| {case.title} | {case.times.size:,} |" in text
    for case in others.values():
        assert 9_000 < case.times.size * (20 if case.times.shape[2] == 1 else 1) < 11_000
    assert (tmp_path / "scale" / "speed.png").stat().st_size > 10_000
    assert all(f"{workers:,} worker" in text for workers in WORKERS)
    assert "{" not in text
