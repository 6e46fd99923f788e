"""How the gain of memory is measured."""

import pytest
from benchmarks.memory import MemoryProgress, gain


def test_the_gain_is_the_slope_of_the_second_half():
    used = [0, 10**9, 2 * 10**9, 2 * 10**9, 2_000_020_000, 2_000_040_000, 2_000_060_000, 2_000_080_000]
    assert gain(used) == pytest.approx(20)


def test_what_does_not_grow_gains_nothing():
    assert gain([5, 10**9, 10**8, 10**8]) == pytest.approx(0, abs=1e-6)


def test_each_step_is_noted_in_its_stage():
    progress = MemoryProgress()
    progress.stage("first", 1)
    progress.step("a")
    progress.stage("second", 2)
    progress.step("b")
    progress.step(note="c", done=2)
    assert {stage: len(used) for stage, used in progress.stages.items()} == {"first": 1, "second": 2}
    assert min(progress.stages["second"]) > 0
