"""Effect sizes: against slow loops; laws; degenerate samples."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats import a12, cohen_d, cohen_g

metrics = st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=2, max_size=15).map(np.array)


@settings(deadline=None)
@given(metrics, metrics)
def test_cohen_d_is_the_t_statistic_without_the_sizes(a, b):
    assume(np.ptp(a) > 0 and np.ptp(b) > 0)
    t = reference.ttest_ind(a, b).statistic
    assert cohen_d(a, b) == pytest.approx(t * math.sqrt(1 / len(a) + 1 / len(b)), rel=1e-6, abs=1e-9)


@settings(deadline=None)
@given(metrics, metrics, st.sampled_from([1e-200, 3.0, 1e200]), st.sampled_from([-2.0, 10.0]))
def test_laws_of_cohen_d(a, b, scale, shift):
    d = cohen_d(a, b)
    assert cohen_d(b, a) == -d
    assert cohen_d(a * scale, b * scale) == pytest.approx(d, rel=1e-6, abs=1e-9)
    assert cohen_d(a + shift, b + shift) == pytest.approx(d, rel=1e-6, abs=1e-9)


def test_cohen_d_without_variance():
    assert cohen_d([0.9] * 3, [0.9] * 3) == cohen_d([0.0], [0.0, 0.0]) == cohen_d([0.3] * 2, [0.1 + 0.2] * 2) == 0.0
    assert cohen_d([0.9] * 3, [0.8] * 3) == math.inf
    assert cohen_d([0.8] * 3, [0.9] * 3) == -math.inf


@settings(deadline=None)
@given(metrics, metrics)
def test_a12_is_the_double_loop(a, b):
    expected = np.mean([(x > y) + 0.5 * (x == y) for x in a for y in b])
    assert a12(a, b) == pytest.approx(expected, rel=1e-12)
    assert a12(b, a) == pytest.approx(1 - expected, rel=1e-12, abs=1e-12)
    assert a12(np.exp(a), np.exp(b)) == pytest.approx(expected, rel=1e-12)
    assert 0 <= a12(a, b) <= 1


def test_a12_takes_values_that_differ_by_rounding_as_equal():
    assert a12([0.3], [0.1 + 0.2]) == 0.5
    assert a12([0.0, 0.0], [0.0]) == 0.5


@settings(deadline=None)
@given(st.lists(st.integers(-20, 20)))
def test_cohen_g_is_the_share_of_favorable_weight(differences):
    favorable = sum(d for d in differences if d > 0)
    weight = sum(abs(d) for d in differences)
    g = cohen_g(differences)
    assert g == (favorable / weight - 0.5 if weight else 0.0)
    assert cohen_g([-d for d in differences]) == pytest.approx(-g)
    assert -0.5 <= g <= 0.5


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 30))))
def test_cohen_g_of_a_histogram_is_that_of_its_expansion(histogram):
    values, counts = np.array(histogram, dtype=np.int64).reshape(-1, 2).T
    assert cohen_g(values, counts) == cohen_g(np.repeat(values, counts))


def test_bad_samples_get_a_sentence():
    for call in (
        lambda: cohen_d([1.0], [2.0]),
        lambda: a12([], [1.0]),
        lambda: a12([math.nan], [1.0]),
        lambda: cohen_g([math.nan]),
        lambda: cohen_g([[1]]),
        lambda: cohen_g([1], [1, 2]),
        lambda: cohen_g([1], [-1]),
        lambda: cohen_g([1], [math.nan]),
        lambda: cohen_g([1], 1),
    ):
        with pytest.raises(BadInput):
            call()
