"""Intervals: against statsmodels and scipy, on the same resamples; coverage; degenerate samples."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from statsmodels.stats.proportion import proportion_confint

from mutiny.core.errors import BadInput
from mutiny.core.random import generator_for
from mutiny.core.stats import Interval, bootstrap, intervals, percentile_interval, wilson, wilson_bounds

levels = st.floats(0.5, 0.999)
counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def ends(interval):
    return interval.low, interval.high


@settings(deadline=None)
@given(counts, levels)
def test_wilson_is_that_of_statsmodels(count, level):
    expected = proportion_confint(*count, alpha=1 - level, method="wilson")
    assert ends(wilson(*count, level)) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(counts, levels)
def test_laws_of_wilson(count, level):
    k, n = count
    inside = wilson(k, n, level)
    assert 0 <= inside.low <= k / n <= inside.high <= 1
    assert ends(wilson(n - k, n, level)) == pytest.approx((1 - inside.high, 1 - inside.low), abs=1e-12)
    assert wilson(k, n, level + (1 - level) / 2).width >= inside.width
    assert wilson(2 * k, 2 * n, level).width <= inside.width


def test_wilson_at_the_ends():
    assert wilson(0, 0) == Interval(0.0, 1.0, 0.95, "wilson")
    assert wilson(0, 7).low == 0.0
    assert wilson(7, 7).high == 1.0


@settings(deadline=None)
@given(st.lists(counts, min_size=1, max_size=20), levels)
def test_wilson_bounds_are_those_of_statsmodels_and_of_one_at_a_time(pairs, level):
    k, n = np.array(pairs).T
    low, high = wilson_bounds(k, n, level)
    expected = proportion_confint(k, n, alpha=1 - level, method="wilson")
    np.testing.assert_allclose((low, high), expected, rtol=0, atol=1e-9)
    assert [(a, b) for a, b in zip(low, high, strict=True)] == [ends(wilson(int(i), int(j), level)) for i, j in pairs]


def test_wilson_bounds_broadcast():
    k = np.arange(6).reshape(2, 3)
    low, high = wilson_bounds(k, 5)
    assert low.shape == high.shape == (2, 3)
    assert (low[0, 0], high[1, 2]) == (0.0, 1.0)
    np.testing.assert_array_equal(wilson_bounds(k, np.full((2, 1), 5)), (low, high))
    np.testing.assert_array_equal(wilson_bounds([0, 0], [0, 7])[1][:1], [1.0])
    assert [end.size for end in wilson_bounds([], 5)] == [0, 0]
    low, high = wilson_bounds(2, 5)
    assert low.shape == high.shape == ()


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1), levels)
def test_percentile_interval_is_the_quantiles(samples, level):
    expected = np.percentile(samples, [50 - 50 * level, 50 + 50 * level])
    interval = percentile_interval(samples, level)
    assert ends(interval) == pytest.approx(tuple(expected), abs=1e-9)
    assert min(samples) <= interval.low <= interval.high <= max(samples)


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("statistic", [np.mean, np.std, np.median])
@pytest.mark.parametrize("seed", range(3))
def test_bootstrap_is_scipys_on_the_same_resamples(method, statistic, seed):
    values = np.random.default_rng(seed).exponential(size=30)
    ours = bootstrap(values, statistic, seed, "test", level=0.9, resamples=999, method=method)
    rng = generator_for(seed, "test")
    theirs = reference.bootstrap(
        (values,), statistic, n_resamples=999, confidence_level=0.9, method=method, random_state=rng, vectorized=True
    )
    interval = theirs.confidence_interval
    assert ends(ours) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert (ours.level, ours.method) == (0.9, method)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_a_statistic_with_axis_a_loop_and_small_batches_agree(method, monkeypatch):
    values = np.random.default_rng(0).normal(size=25)
    at_once = bootstrap(values, np.mean, 0, resamples=200, method=method)
    one_by_one = bootstrap(values, lambda row: float(np.mean(row)), 0, resamples=200, method=method)
    monkeypatch.setattr(intervals, "BATCH", 60)
    assert at_once == one_by_one == bootstrap(values, np.mean, 0, resamples=200, method=method)
    assert ends(at_once) == pytest.approx(
        ends(bootstrap(values, math.fsum, 0, resamples=200, method=method)) / np.float64(25)
    )


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.sampled_from(["percentile", "bca"]))
def test_bootstrap_never_leaves_the_range_nor_turns_undefined(values, method):
    for statistic in (np.mean, np.max, np.median):
        interval = bootstrap(values, statistic, 1, resamples=60, method=method)
        assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_bootstrap_of_a_constant_is_a_point():
    for method in ("percentile", "bca"):
        assert ends(bootstrap([2.0] * 5, np.mean, 0, method=method)) == (2.0, 2.0)
        assert ends(bootstrap([2.0], np.mean, 0, method=method)) == (2.0, 2.0)


def test_bootstrap_depends_on_seed_and_keys_only():
    values = np.random.default_rng(0).normal(size=40)
    first = bootstrap(values, np.mean, 0, "a", 1)
    assert first == bootstrap(values, np.mean, 0, "a", 1)
    assert first != bootstrap(values, np.mean, 0, "a", 2)
    assert first != bootstrap(values, np.mean, 1, "a", 1)


def test_bootstrap_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    hits = sum(
        interval.low <= 0 <= interval.high
        for interval in (bootstrap(rng.normal(size=40), np.mean, run, level=0.9, resamples=300) for run in range(400))
    )
    assert 0.83 < hits / 400 < 0.95


def test_bad_input_gets_a_sentence():
    values = [1.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in (
            lambda: wilson(3, 2),
            lambda: wilson(-1, 2),
            lambda: wilson(1, 2, 1.0),
            lambda: wilson_bounds([1, 3], 2),
            lambda: wilson_bounds([1, 1], [2] * 3),
            lambda: wilson_bounds([1], 2, 0),
            lambda: wilson_bounds([math.nan], 2),
            lambda: wilson_bounds([1], math.inf),
            lambda: percentile_interval([]),
            lambda: percentile_interval([math.nan]),
            lambda: percentile_interval(values, 0.0),
            lambda: bootstrap([], np.mean, 0),
            lambda: bootstrap(values, np.mean, 0, resamples=0),
            lambda: bootstrap(values, np.mean, 0, method="magic"),
            lambda: bootstrap(values, np.mean, 0, level=2),
            lambda: bootstrap(values, lambda row: math.nan, 0),
        ):
            with pytest.raises(BadInput):
                call()


@pytest.mark.parametrize("seed", range(5))
def test_bca_survives_an_estimate_outside_all_resamples(seed):
    interval = bootstrap(np.random.default_rng(seed).normal(size=9), np.mean, seed, resamples=1, method="bca")
    assert math.isfinite(interval.low)
    assert interval.width == 0
