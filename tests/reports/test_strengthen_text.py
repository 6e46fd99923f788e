"""What `strengthen` says on a terminal is what it found."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from mutiny.core.stats import Interval
from mutiny.reports.strengthen_text import strengthen_text
from mutiny.verbs.strengthen.held_out import RateChange
from mutiny.verbs.strengthen.subset import Subset, SubsetRates
from reports.page.test_strengthen import STRENGTHENED
from verbs.strengthen.tables import strengthen, weak_subject


def shown(result):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(strengthen_text(result))
    lines = capture.get().splitlines()
    assert max(map(len, lines)) <= 80
    return " ".join(capture.get().split())


def change(value, low, high):
    return RateChange(value, Interval(low, high, 0.95, "jackknife-t"))


def test_the_decision_comes_first():
    assert shown(STRENGTHENED).startswith(
        "Label these 4 inputs: on held-out faults your tests then notice 90% instead of 40% (95%: +30 to +70 points); "
        "4 random ones: 45%. Label first: 7, 3, 1, 9."
    )


@pytest.mark.parametrize("gain", [change(0.02, -0.01, 0.05), change(-0.1, -0.2, -0.05), RateChange(0.0, None)])
def test_a_choice_that_may_not_help_is_not_praised(gain):
    own = replace(STRENGTHENED.gain("strengthen", 4), gain=gain)
    assert "Labeling these 4 inputs is not known to help" in shown(replace(STRENGTHENED, measured=(own,)))


def test_a_prediction_is_called_one():
    told = shown(replace(STRENGTHENED, measured=()))
    assert "on 30 faults of other seeds, your tests are then predicted to notice 88% instead of 40%." in told


def test_a_smaller_set_keeps_or_loses():
    subset = Subset(np.array([3, 5, 7]), 40, 0.5, 0.5, 0.02)

    def held(part, whole):
        rates = SubsetRates(whole, part, 0.1, change(whole - part, -0.01, 0.03), 90)
        return shown(replace(STRENGTHENED, subset=subset, smaller=rates))

    assert "3 of 40 tests are enough: they notice 49% of held-out faults, all of them 50% (1.0 points lost" in held(
        0.49, 0.5
    )
    fell = held(0.3, 0.5)
    assert "Keep all tests: 3 of 40 tests notice only 30% of held-out faults, all of them 50%" in fell
    assert "more than the 2 allowed" in fell
    assert "Keep all tests" in held(0.04, 0.05)  # a fifth of what the tests notice
    assert "may be enough" in shown(replace(STRENGTHENED, subset=subset, smaller=None))


def test_tests_that_notice_nothing_are_all_kept():
    alone = replace(STRENGTHENED, budgets=(), order=np.zeros(0, np.int64), measured=(), predicted={})
    alone = replace(alone, subject=replace(alone.subject, pool=None), settings={"minimize": True, "seed": 0})
    assert shown(alone).startswith("Keep all tests: they notice no fault")


def test_distances_are_means():
    far = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    pool = 8 * far / np.linalg.norm(far, axis=1, keepdims=True)
    found = strengthen(1, weak_subject(1, pool=pool), budget=1, seeds=1, synthesize=20)
    assert found.candidates is not None
    told = shown(found)
    assert f"on average {found.candidates.distances['linf'].mean():.3g} (Linf)" in told
    assert "a person must label them" in told
