"""The t-test that notices faults of a loss: against scipy, its laws, and how often it notices harmless changes."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.stats.notice import POINTS, loss_variance_over_inputs, mean_worse, notice_interval, notice_rate

CHANGES = st.lists(st.integers(-40, 60), min_size=2, max_size=40)


@settings(deadline=None)
@given(st.integers(2, 90), st.floats(-1, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_losses_are_tested_as_by_scipy(size, shift, tolerated, seed):
    """Losses that do not change take part as zeros."""
    rng = np.random.default_rng(seed)
    change = rng.normal(shift, 1, size) * (rng.random(size) < 0.8)
    assume(np.ptp(change) > 0)
    expected = reference.ttest_1samp(change, tolerated, alternative="greater").pvalue
    assert mean_worse(change, tolerated) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@given(CHANGES, st.integers(0, 10), st.sampled_from([2.0**-600, 0.25, 3.0, 2.0**600]), st.randoms())
def test_order_and_unit_of_the_loss_do_not_matter(change, tolerated, scale, random):
    p = mean_worse(change, tolerated)
    shuffled = random.sample(change, len(change))
    assert mean_worse(shuffled, tolerated) == pytest.approx(p, rel=1e-6, abs=1e-12)
    assert mean_worse(scale * np.array(change), scale * tolerated) == pytest.approx(p, rel=1e-6, abs=1e-12)


@given(CHANGES, st.integers(-10, 10), st.integers(0, 10))
def test_the_more_is_tolerated_the_less_is_noticed(change, tolerated, more):
    assert mean_worse(change, tolerated) <= mean_worse(change, tolerated + more)


@given(CHANGES, st.integers(-10, 10), st.integers(-20, 20))
def test_a_growth_of_all_losses_is_offset_by_tolerating_as_much(change, tolerated, growth):
    grown = np.array(change) + growth
    assert mean_worse(grown, tolerated + growth) == pytest.approx(mean_worse(change, tolerated), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("growth", [0.1, 1 / 3, 7.0])
def test_losses_that_all_grow_alike_are_noticed_if_they_grow_by_more_than_tolerated(growth):
    assert mean_worse([growth] * 11, growth) == mean_worse([growth] * 11, 2 * growth) == 1.0
    assert mean_worse([growth] * 11, growth / 2) == mean_worse([growth, growth], 0.0) == 0.0


def test_no_change_and_too_few_inputs_are_no_evidence():
    assert mean_worse([0.0, 0.0]) == mean_worse([0.0] * 9, 0.5) == 1.0
    assert mean_worse([]) == mean_worse([5.0]) == mean_worse([math.nan]) == 1.0


@pytest.mark.parametrize("answer", [math.nan, math.inf])
def test_an_answer_that_is_not_a_number_makes_the_mean_loss_infinite(answer):
    assert mean_worse([-1.0, -2.0, answer], 3.0) == 0.0
    assert mean_worse([answer] * 10) == 0.0


def test_an_original_with_an_infinite_loss_cannot_become_worse():
    assert mean_worse([-math.inf, 1.0, 2.0]) == mean_worse([-math.inf, math.inf]) == 1.0
    assert mean_worse([1.0, 2.0], math.inf) == mean_worse([1.0, math.nan], math.nan) == 1.0


@pytest.mark.parametrize("size", [100, 2000])
@pytest.mark.parametrize("growth", [-0.005, 0.0, 0.005])
def test_harmless_changes_are_noticed_at_most_as_often_as_alpha_says(size, growth):
    """A loss of 1 on average, which changes by up to half a percent, and by other amounts at each input."""
    rng = np.random.default_rng(size)
    losses = rng.chisquare(1, (1000, size))  # squared errors
    changes = losses * rng.normal(growth, 0.05, (1000, size))
    noticed = np.mean([mean_worse(change, 0.01) < 0.05 for change in changes])
    assert noticed <= 0.05


@pytest.mark.parametrize("size", [100, 2000])
def test_changes_at_the_tolerated_growth_are_noticed_as_often_as_alpha_says(size):
    rng = np.random.default_rng(size)
    noticed = np.mean([mean_worse(change, 0.01) < 0.05 for change in rng.normal(0.01, 0.1, (1000, size))])
    assert noticed == pytest.approx(0.05, abs=4 * math.sqrt(0.05 * 0.95 / 1000))


def spelled_out(changes, tolerated):
    return [mean_worse(change, limit) < 0.05 for change, limit in zip(changes, tolerated, strict=True)]


def test_the_variance_over_inputs_is_that_of_a_bootstrap_spelled_out():
    """The loop repeats inputs, one fault after the other; only the draws differ."""
    rng = np.random.default_rng(3)
    faults, inputs = 8, 80
    costs = np.exp(rng.uniform(math.log(0.5), math.log(8), faults))
    tolerated = rng.uniform(0, 0.1, faults)
    changes = rng.normal(costs[:, None] / 12, 1, (faults, inputs))
    changes[:, rng.random(inputs) < 0.2] = 0
    changes[0, 3] = math.nan  # noticed if this input is drawn

    def value(drawn):
        rate = notice_rate(costs, spelled_out(changes[:, drawn], tolerated))
        return math.log((rate * faults + 0.5) / (faults - rate * faults + 0.5))

    expected = np.var([value(rng.integers(0, inputs, inputs)) for _ in range(300)], ddof=1)
    fault, position = np.nonzero(changes)
    arguments = costs, fault, position, changes[fault, position], inputs, 0
    found = loss_variance_over_inputs(*arguments, tolerated=tolerated, resamples=300)
    assert found == pytest.approx(expected, rel=0.5)
    assert found > 0.02
    again = loss_variance_over_inputs(costs, fault[::-1], position[::-1], changes[fault, position][::-1], inputs, 0)
    assert again == loss_variance_over_inputs(*arguments)


def test_one_tolerated_growth_for_all_faults_is_the_same_for_each():
    changes = np.random.default_rng(0).normal(0.2, 1, (3, 50))
    fault, position = np.nonzero(changes)
    arguments = [0.7, 1.5, 3.0], fault, position, changes[fault, position], 50, 0
    one = loss_variance_over_inputs(*arguments, tolerated=0.05)
    assert one == loss_variance_over_inputs(*arguments, tolerated=[0.05] * 3) > 0
    assert one != loss_variance_over_inputs(*arguments)


def test_verdicts_that_no_draw_changes_have_no_variance():
    faults, inputs = np.repeat(range(4), 20), [*range(20)] * 4
    clear = np.repeat([5.0, -5.0, -math.inf, 0.001], 20)
    variance = loss_variance_over_inputs([0.7, 1.5, 3.0, 6.0], faults, inputs, clear, 20, 0, tolerated=0.01)
    assert variance == pytest.approx(0, abs=1e-12)


def test_faults_outside_the_bins_have_no_variance():
    assert loss_variance_over_inputs([20.0, 0.1], [0, 1], [0, 1], [1.0, 2.0], 10, 0) == 0.0
    assert loss_variance_over_inputs([], [], [], [], 10, 0) == 0.0
    with_more = loss_variance_over_inputs(
        [1.5, 90.0], [0, 0, 0, 0, 0, 1], [0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 1], 10, 0
    )
    assert with_more == loss_variance_over_inputs([1.5], [0] * 5, range(5), [1, 2, 3, 4, 5], 10, 0)


def test_the_interval_for_other_inputs_covers_what_other_test_sets_say():
    """Hard inputs lose much under many faults, so that all faults depend on which inputs were drawn."""
    rng = np.random.default_rng(0)
    size, faults, population = 150, 24, 6000
    costs = np.tile([0.7, 1.4, 2.8, 5.6], faults // 4)
    hardness = rng.gamma(0.5, 2, population)
    changes = rng.normal(np.log2(costs)[:, None] / 8 + 0.2, 1, (faults, population)) * hardness
    tolerated = np.full(faults, 0.02)

    draws = [rng.choice(population, size, replace=False) for _ in range(60)]
    seen = [spelled_out(changes[:, inputs], tolerated) for inputs in draws]
    truth = np.mean([notice_rate(costs, each) for each in seen])
    assert 0.2 < truth < 0.8
    covered = []
    for inputs, each in zip(draws[:40], seen, strict=False):
        fault, position = np.nonzero(changes[:, inputs])
        values = changes[:, inputs][fault, position]
        variance = loss_variance_over_inputs(
            costs, fault, position, values, size, 0, tolerated=tolerated, edges=POINTS, resamples=50
        )
        interval = notice_interval(costs, each, np.arange(faults) % 6, other_variance=variance)
        covered.append(interval.low <= truth <= interval.high)
    assert np.mean(covered) >= 0.85
