"""Differences of notice rates: weights of faults, and an interval that covers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.core.stats.notice import POINTS, bin_weights, notice_rate, rate_difference


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0.0, 20.0), st.booleans()), min_size=1, max_size=30))
def test_weights_give_the_notice_rate(faults):
    costs, noticed = zip(*faults, strict=True)
    rate = notice_rate(costs, noticed)
    weights = bin_weights(costs)
    assert weights @ np.array(noticed, float) == pytest.approx(0.0 if rate is None else rate)
    assert weights.sum() == pytest.approx(0.0 if rate is None else 1.0)
    assert all((weight > 0) == (POINTS[0] <= cost < POINTS[-1]) for cost, weight in zip(costs, weights, strict=True))


def test_a_difference_is_that_of_the_rates():
    rng = np.random.default_rng(0)
    costs, units = rng.uniform(0.5, 8, 60), np.arange(60) % 5
    before, after = rng.random(60) < 0.4, rng.random(60) < 0.6
    value, interval = rate_difference(costs, before, after, units)
    assert value == pytest.approx(notice_rate(costs, after) - notice_rate(costs, before))
    assert interval.low < value < interval.high
    shares, _ = rate_difference(costs, np.full(60, 0.25), np.full(60, 0.75), units)
    assert shares == pytest.approx(0.5)


def test_one_unit_has_no_interval_and_agreement_by_chance_is_not_certainty():
    assert rate_difference([1.5, 1.5], [0, 0], [1, 1], [3, 3]) == (1.0, None)
    value, interval = rate_difference([1.5] * 6, [0] * 6, [0] * 6, range(6))
    assert value == 0.0
    assert interval.low < 0 < interval.high


def test_intervals_cover_the_true_difference():
    """Faults of an original resemble each other; 8 originals, 40 faults each."""
    rng, covered = np.random.default_rng(5), 0
    units, costs = np.repeat(np.arange(8), 40), np.tile([0.7, 1.5, 3.0, 6.0], 80)
    for _ in range(300):
        shift = rng.normal(0, 0.1, 8)[units]
        before, after = rng.random(320) < 0.4 + shift, rng.random(320) < 0.6 + shift
        interval = rate_difference(costs, before, after, units)[1]
        covered += interval.low <= 0.2 <= interval.high
    assert 0.92 * 300 <= covered <= 300
