"""Costs in accuracy points and in percent of a loss, and the paired tests that go with them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import mutiny
from mutiny.verbs.assess.cost_unit import LARGEST_COST, unit_of

ACCURACY, LOSS = unit_of(mutiny.Classification(3)), unit_of(mutiny.Regression(tolerance=0.1, metric="mae"))
CHANGES = st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=80)


@given(CHANGES, st.floats(0.5, 1))
def test_points_are_the_accuracy_that_is_lost_whatever_it_was_before(changes, accuracy):
    lost = 100 * (changes.count(1.0) - changes.count(-1.0)) / len(changes)
    assert ACCURACY.cost(changes, accuracy) == pytest.approx(lost)


@given(CHANGES)
def test_faults_of_a_classifier_are_noticed_by_the_exact_binomial_test(changes):
    broken, repaired = changes.count(1.0), changes.count(-1.0)
    expected = stats.binomtest(broken, broken + repaired, alternative="greater").pvalue if broken + repaired else 1
    assert ACCURACY.p_value(changes, 0.9) == pytest.approx(expected)


@given(st.lists(st.floats(-1, 5), min_size=1, max_size=40), st.floats(0.01, 10))
def test_a_loss_costs_percent_of_what_it_was(changes, before):
    after = before + np.mean(changes)
    assert LOSS.cost(changes, before) == pytest.approx(100 * (after / before - 1), rel=1e-9, abs=1e-9)


@given(st.lists(st.floats(-1, 5), min_size=1, max_size=40), st.floats(0.01, 10), st.floats(0.1, 10))
def test_the_unit_of_a_loss_does_not_matter(changes, before, scale):
    scaled = LOSS.cost(scale * np.array(changes), scale * before)
    assert scaled == pytest.approx(LOSS.cost(changes, before), rel=1e-9, abs=1e-9)


def test_faults_of_a_loss_are_noticed_by_a_t_test_of_more_than_the_tolerated_growth():
    changes = np.random.default_rng(0).normal(0.4, 1, 40)
    expected = stats.ttest_1samp(changes, 0.01 * 2.5, alternative="greater").pvalue
    assert LOSS.p_value(changes, 2.5) == pytest.approx(expected)
    assert LOSS.tolerated(2.5) == pytest.approx(0.025)
    assert ACCURACY.tolerated(0.9) == 0.0


@given(st.lists(st.floats(-1, 5), min_size=2, max_size=40), st.floats(0.01, 10))
def test_a_loss_that_costs_less_than_one_percent_is_no_evidence(changes, before):
    if LOSS.cost(changes, before) < 0.999:
        assert LOSS.p_value(changes, before) >= 0.5


@pytest.mark.parametrize("broken", [math.nan, math.inf])
def test_answers_that_are_not_numbers_cost_the_most_and_are_noticed(broken):
    assert LOSS.cost([0.1, broken, 0.2], 0.5) == LARGEST_COST
    assert LOSS.p_value([0.1, broken, 0.2], 0.5) == LOSS.p_value([broken] * 10, 0.5) == 0.0


def test_a_loss_of_zero_cannot_be_exceeded_by_percent():
    assert LOSS.cost([0.0, 0.0], 0.0) == 0.0
    assert LOSS.cost([0.1, 0.0], 0.0) == LARGEST_COST


def test_targets_lie_in_their_bins():
    for unit in (ACCURACY, LOSS):
        assert [np.searchsorted(unit.edges, target) for target in unit.targets] == [1, 2, 3, 4]
        assert unit.edges == tuple(sorted(unit.edges))
    assert "mae" in LOSS.name
    assert not ACCURACY.relative
