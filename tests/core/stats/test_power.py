"""Power: against statsmodels, simulation, and the numbers in the spec."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.power import FTestAnovaPower, TTestIndPower

from mutiny.core.errors import BadInput
from mutiny.core.stats import power_two_sample

alphas = st.floats(0.001, 0.5)


@settings(deadline=None)
@given(st.floats(0.01, 2), st.integers(2, 60), st.integers(2, 60), alphas)
def test_power_is_that_of_statsmodels(d, n1, n2, alpha):
    expected = TTestIndPower().power(d, n1, alpha, ratio=n2 / n1)
    if not math.isnan(expected):  # scipy's noncentral t has holes
        assert power_two_sample(d, n1, n2, alpha) == pytest.approx(expected, abs=1e-7)


@settings(deadline=None)
@given(st.floats(0.01, 3), st.integers(4, 150), alphas)
def test_two_groups_are_an_anova_at_half_of_d(d, n, alpha):
    expected = FTestAnovaPower().power(d / 2, 2 * n, alpha, k_groups=2)
    assert power_two_sample(d, n, n, alpha) == pytest.approx(expected, abs=1e-7)


def test_power_is_what_a_simulation_sees():
    rng, runs = np.random.default_rng(0), 40_000
    a, b = rng.normal(0.8, 1, (runs, 12)), rng.normal(0, 1, (runs, 20))
    seen = (reference.ttest_ind(a, b, axis=1).pvalue < 0.05).mean()
    assert power_two_sample(0.8, 12, 20) == pytest.approx(seen, abs=0.01)


def test_right_and_wrong_conversion_as_in_the_spec():
    assert power_two_sample(0.91, 20, 20) == pytest.approx(0.8, abs=0.01)
    assert FTestAnovaPower().power(0.46, 40, 0.05) == pytest.approx(0.8, abs=0.015)  # what the peers compute
    assert power_two_sample(0.46, 20, 20) < 0.3


@settings(deadline=None)
@given(st.floats(0, 5), st.integers(2, 50), st.integers(1, 50), alphas)
def test_laws_of_power(d, n1, n2, alpha):
    power = power_two_sample(d, n1, n2, alpha)
    assert alpha - 1e-9 <= power <= 1
    assert power_two_sample(-d, n2, n1, alpha) == pytest.approx(power, abs=1e-12)
    assert power_two_sample(d + 0.1, n1, n2, alpha) >= power - 1e-9
    assert power_two_sample(d, n1 + 1, n2, alpha) >= power - 1e-9
    assert power_two_sample(d, n1, n2, min(0.9, alpha + 0.1)) >= power - 1e-9


@pytest.mark.parametrize("d", [1e-200, 0.0, 10.0, 1e3, 1e8, 1e16, 1e160, math.inf])
@pytest.mark.parametrize("n", [2, 20, 10**6])
@pytest.mark.parametrize("alpha", [1e-9, 0.05, 0.99])
def test_no_effect_is_too_small_or_too_large(d, n, alpha):
    power = power_two_sample(d, n, n, alpha)
    assert alpha - 1e-9 <= power <= 1
    if d < 1e-100:
        assert power == alpha
    if d == math.inf:
        assert power == 1


def test_impossible_questions_get_a_sentence():
    for call in (
        lambda: power_two_sample(1.0, 1, 1),
        lambda: power_two_sample(1.0, 0, 5),
        lambda: power_two_sample(math.nan, 5, 5),
        lambda: power_two_sample(1.0, 5, 5, 0.0),
        lambda: power_two_sample(1.0, 5, 5, 1.5),
    ):
        with pytest.raises(BadInput):
            call()
