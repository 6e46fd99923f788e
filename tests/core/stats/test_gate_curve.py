"""The operating curve of a bound, against counting one bound at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats.gate_curve import BoundRule, operating_curve, tightest_bound
from mutiny.core.stats.intervals import clopper_pearson
from mutiny.core.stats.notice import notice_rate

RULES = st.builds(BoundRule, st.booleans(), st.booleans())
VALUES = st.one_of(st.integers(-5, 20).map(lambda number: number / 1000), st.just(math.nan), st.just(math.inf))
FAULTS = st.lists(st.tuples(st.floats(0, 10), VALUES), max_size=30)
HARMLESS = st.lists(VALUES, min_size=1, max_size=30)


def spelled_out(value, bound, rule):
    """Whether one value passes."""
    if math.isnan(value):
        return False
    if abs(value - bound) < 1e-11:
        return not rule.strict
    return value < bound if rule.upper else value > bound


@given(FAULTS, HARMLESS, RULES)
def test_the_curve_is_what_counting_at_each_bound_gives(faults, harmless, rule):
    costs, values = [cost for cost, _ in faults], [value for _, value in faults]
    curve = operating_curve(costs, values, {"changes": harmless}, rule)
    for place, bound in enumerate(curve.bounds):
        passing = [spelled_out(value, bound, rule) for value in values]
        assert rule.passes(values, bound).tolist() == passing
        noticed = notice_rate(costs, [not one for one in passing])
        missed = curve.misses[place]
        assert math.isnan(missed) if noticed is None else missed == pytest.approx(1 - noticed)
        failing = [not spelled_out(value, bound, rule) for value in harmless]
        assert curve.alarms["changes"][place] == pytest.approx(np.mean(failing))


@given(FAULTS, HARMLESS, RULES)
def test_a_looser_bound_misses_more_and_alarms_less(faults, harmless, rule):
    costs, values = [cost for cost, _ in faults], [value for _, value in faults]
    curve = operating_curve(costs, values, {"changes": harmless}, rule)
    assert (np.diff(curve.alarms["changes"]) <= 0).all()
    for column in (curve.misses, *curve.bin_misses.T):
        assert np.isnan(column).all() or (np.diff(column) >= -1e-12).all()


@given(HARMLESS, st.floats(0, 0.9), RULES)
def test_the_chosen_bound_is_the_tightest_one_with_the_wanted_rate(harmless, wanted, rule):
    chosen = tightest_bound(harmless, wanted, rule)
    rates = {
        bound: np.mean([not spelled_out(value, bound, rule) for value in harmless])
        for bound in harmless
        if math.isfinite(bound)
    }
    fine = [bound for bound, rate in rates.items() if rate <= wanted + 1e-12]
    if chosen is None:
        assert not fine
    else:
        assert chosen[0] == (min(fine) if rule.upper else max(fine))
        assert chosen[1] == pytest.approx(rates[chosen[0]] * len(harmless))


def test_the_interval_of_the_chosen_bound_covers_its_true_rate():
    # Bounds are chosen from 60 normal values, at most 5% of which fail; the true rate at a bound is its normal tail.
    rng, covered = np.random.default_rng(0), 0
    for _ in range(2000):
        bound, failing = tightest_bound(rng.normal(size=60), 0.05, BoundRule(upper=True))
        interval = clopper_pearson(failing, 60)
        covered += interval.low <= reference.norm.sf(bound) <= interval.high
    assert reference.binomtest(covered, 2000, 0.95, alternative="less").pvalue > 1e-6


def test_other_values_may_be_bounds_only_if_a_bound_fails_itself():
    assert tightest_bound([0.1, 0.2], 0.0, BoundRule(upper=True, strict=True)) is None
    assert tightest_bound([0.1, 0.2], 0.0, BoundRule(upper=True, strict=True), [0.3, 0.15]) == (0.3, 0)
    assert tightest_bound([0.1, 0.2], 0.0, BoundRule(upper=True), [0.15]) == (0.2, 0)


def test_no_bound_will_do_without_harmless_changes_or_if_one_is_undefined():
    assert tightest_bound([], 0.1, BoundRule(upper=True)) is None
    assert tightest_bound([math.nan, 0.1], 0.1, BoundRule(upper=True)) is None


def test_a_curve_without_faults_and_changes_is_empty():
    curve = operating_curve([], [], {}, BoundRule(upper=False))
    assert (len(curve.bounds), len(curve.misses), curve.bin_misses.shape) == (0, 0, (0, 4))


def test_given_bounds_are_used_and_sorted():
    curve = operating_curve([1.5], [0.9], {"a": [0.95]}, BoundRule(upper=False), bounds=[0.8, 0.99, 0.9])
    assert curve.bounds.tolist() == [0.99, 0.9, 0.8]
    assert curve.misses.tolist() == [0.0, 1.0, 1.0]


def test_shapes_and_shares_are_checked():
    with pytest.raises(BadInput, match="same length"):
        operating_curve([1.0], [0.1, 0.2], {}, BoundRule(upper=True))
    with pytest.raises(BadInput, match="a share"):
        tightest_bound([0.1], 1.0, BoundRule(upper=True))
