"""Chances to pass gates, against slow sums, simulation and one another."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats.gate_errors import (
    accuracy_pass_chance,
    drop_pass_chance,
    drop_pass_chance_given,
    least_count,
    most_count,
)

SHARES = st.floats(0, 1)


@given(st.integers(1, 5000), st.integers(-5000, 5000), st.booleans())
def test_a_count_is_on_the_right_side_of_its_own_share(inputs, count, strict):
    assert least_count(count / inputs, inputs, strict) == count + strict
    assert most_count(count / inputs, inputs, strict) == count - strict


@given(SHARES, st.integers(1, 5000))
def test_least_and_most_counts_are_neighbors_of_the_bound(bound, inputs):
    least, most = least_count(bound, inputs), most_count(bound, inputs)
    assert least / inputs >= bound - 2e-12 > (least - 1) / inputs - 4e-12
    assert most / inputs <= bound + 2e-12 < (most + 1) / inputs + 4e-12


@pytest.mark.parametrize("accuracy", [0.0, 0.3, 0.97, 1.0])
def test_the_chance_of_an_accuracy_is_the_sum_of_its_counts(accuracy):
    total = sum(
        math.comb(30, count) * accuracy**count * (1 - accuracy) ** (30 - count)
        for count in range(least_count(0.9, 30), 31)
    )
    assert accuracy_pass_chance(accuracy, 30, least_count(0.9, 30)) == pytest.approx(total)


@pytest.mark.parametrize(("broken", "repaired"), [(0.1, 0.05), (0.3, 0.0), (0.0, 0.2), (0.0, 0.0), (0.6, 0.4), (1, 0)])
@pytest.mark.parametrize("most", [-3, 0, 2])
def test_the_chance_of_a_drop_is_the_sum_over_all_outcomes(broken, repaired, most):
    inputs, same = 8, 1 - broken - repaired
    total = sum(
        math.prod({-1: broken, 1: repaired, 0: max(0.0, same)}[change] for change in changes)
        for changes in itertools.product((-1, 0, 1), repeat=inputs)
        if -sum(changes) <= most
    )
    assert drop_pass_chance(broken, repaired, inputs, most) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(
    ("inputs", "broken", "repaired"), [(10_000, 0.012, 0.002), (500, 0.05, 0.04), (2000, 0.4, 0.3)]
)
def test_chances_of_drops_are_those_of_simulated_networks(inputs, broken, repaired):
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(inputs, [broken, repaired, 1 - broken - repaired], 40_000)
    lost = drawn[:, 0] - drawn[:, 1]
    for most in np.quantile(lost, [0.05, 0.5, 0.9]).astype(int):
        chance = float(drop_pass_chance(broken, repaired, inputs, int(most)))
        passed = int((lost <= most).sum())
        assert reference.binomtest(passed, 40_000, chance).pvalue > 1e-6


def test_chances_given_the_clean_accuracy_average_to_those_of_any_test_set():
    inputs, accuracy, broken, repaired = 60, 0.8, 0.1, 0.3
    rights = np.arange(inputs + 1)
    weights = reference.binom.pmf(rights, inputs, accuracy)
    given_right = [float(drop_pass_chance_given(int(n), inputs, broken, repaired, 2)) for n in rights]
    whole = drop_pass_chance(accuracy * broken, (1 - accuracy) * repaired, inputs, 2)
    assert float(weights @ given_right) == pytest.approx(float(whole), rel=1e-10)


def test_chances_given_the_clean_accuracy_are_those_of_simulated_networks():
    rng = np.random.default_rng(1)
    lost = rng.binomial(9700, 0.01, 40_000) - rng.binomial(300, 0.1, 40_000)
    chance = float(drop_pass_chance_given(9700, 10_000, 0.01, 0.1, 60))
    assert reference.binomtest(int((lost <= 60).sum()), 40_000, chance).pvalue > 1e-6


@given(st.integers(1, 3000), st.floats(0, 0.3), st.floats(0, 0.3), st.floats(0, 0.2), st.integers(-50, 200))
def test_a_network_that_breaks_more_or_repairs_less_passes_less_often(inputs, broken, repaired, more, most):
    chance = drop_pass_chance(broken, repaired, inputs, most)
    assert drop_pass_chance(broken + more, repaired, inputs, most) <= chance + 1e-9
    assert drop_pass_chance(broken, repaired + more, inputs, most) >= chance - 1e-9
    assert drop_pass_chance(broken, repaired, inputs, most + 1) >= chance - 1e-9
    assert 0 <= chance <= 1


@given(st.integers(1, 2000), st.floats(0, 0.5), st.floats(0, 0.5), st.integers(-20, 20))
def test_a_loss_is_a_gain_of_the_reversed_pair(inputs, broken, repaired, most):
    more_lost = 1 - drop_pass_chance(broken, repaired, inputs, most)
    assert more_lost == pytest.approx(float(drop_pass_chance(repaired, broken, inputs, -most - 1)), abs=1e-9)


def test_chances_have_the_shape_of_their_arguments():
    assert drop_pass_chance(np.zeros((2, 3)), [0.1, 0.2, 0.3], 10, 0).shape == (2, 3)
    assert accuracy_pass_chance(np.ones(4), 10, 11).tolist() == [0, 0, 0, 0]
    assert accuracy_pass_chance(np.zeros(4), 10, 0).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: accuracy_pass_chance(1.1, 10, 3), "accuracy"),
        (lambda: accuracy_pass_chance(math.nan, 10, 3), "accuracy"),
        (lambda: drop_pass_chance(-0.1, 0, 10, 3), "broken"),
        (lambda: drop_pass_chance(0.6, 0.6, 10, 3), "broken, repaired"),
        (lambda: drop_pass_chance_given(11, 10, 0.1, 0.1, 3), "right"),
    ],
)
def test_what_is_no_probability_is_refused(call, argument):
    with pytest.raises(BadInput) as refused:
        call()
    assert refused.value.argument == argument
