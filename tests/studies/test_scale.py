"""The simulation of campaigns against what must hold whatever the numbers."""

from dataclasses import replace

import pytest
from studies.scale.campaigns import WORKERS, cases
from studies.scale.measuring import Measured
from studies.scale.page import write
from studies.scale.simulation import Costs, Load, simulate

FREE = Costs(task=0, call=0, bandwidth=1e9, sent=0, returned=0, work=0, start=0)
MEASURED = Measured(
    subject="a network", probe_seconds=1.0, instances=10, sent=1e6, returned=2e6, kept=1e4, work=3e8,
    driver={"processes": 4e-4, "ray": 3e-4}, rate={"ray": 3000.0, "processes": 2000.0}, call=2e-3, checked=5e8,
)  # fmt: skip


@pytest.mark.parametrize("load", [Load(7, 5, 1, 2.0), Load(3, 4, 6, 0.5), Load(1, 1, 50, 1.0)])
def test_one_worker_does_everything_and_many_do_the_longest_search(load):
    alone, crowd = simulate(load, FREE, 1), simulate(load, FREE, load.chains * load.wide)
    assert alone.seconds == pytest.approx(alone.bounds["workers"])
    assert alone.busy == pytest.approx(1)
    assert crowd.seconds == pytest.approx(crowd.bounds["longest search"])
    assert alone.bounds["workers"] == pytest.approx(load.tasks * load.seconds, rel=0.5)


@pytest.mark.parametrize("workers", [1, 2, 5, 40])
@pytest.mark.parametrize("batch", [1, 8])
def test_nothing_is_faster_than_its_bounds(workers, batch):
    costs = Costs(0.01, 0.02, 1e6, 1e4, 2e4, 1e6, 3.0, batch)
    for load in (Load(10, 4, 2, 0.3), Load(2, 2, 30, 0.05)):
        found = simulate(load, costs, workers)
        assert found.seconds >= max(found.bounds.values()) - 1e-9
        assert 0 < found.busy <= 1


def test_a_driver_that_takes_long_is_the_limit():
    slow = replace(FREE, task=1.0)
    found = simulate(Load(1, 1, 100, 0.01), slow, 50)
    assert found.limit == "driver"
    assert found.seconds == pytest.approx(100, rel=0.1)


def test_batches_pay_for_calls():
    calls, load = replace(FREE, call=0.1), Load(1, 1, 1000, 0.001)
    assert simulate(load, replace(calls, batch=64), 4).seconds < simulate(load, calls, 4).seconds / 5


def test_the_page_tells_of_every_campaign(tmp_path):
    text = write(MEASURED, tmp_path).read_text()
    for case in cases(MEASURED).values():
        assert case.title in text
        assert 9_000 < case.load.tasks * (20 if case.load.wide == 1 else 1) < 11_000
    assert (tmp_path / "scale" / "speed.png").stat().st_size > 10_000
    assert all(f"{workers:,} worker" in text for workers in WORKERS)
