"""Surprise coverage: against a loop over buckets, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.verbs.select.surprise.coverage import buckets_of, coverage_order

surprises = st.lists(st.floats(-50, 50), min_size=1, max_size=40).map(np.array)


def loop_bucket(value, lower, upper, buckets):
    edges = np.linspace(lower, upper, buckets + 1)
    inside = [at for at in range(buckets) if edges[at] <= value < edges[at + 1]]
    return inside[0] if inside else buckets - 1


@given(surprises, st.floats(-60, 60), st.integers(1, 30))
@settings(max_examples=100, deadline=None)
def test_buckets_are_those_of_the_loop(values, upper, buckets):
    found = buckets_of(values, upper, buckets)
    if upper <= values.min():
        assert (found == buckets - 1).all()
    else:
        assert found.tolist() == [loop_bucket(value, values.min(), upper, buckets) for value in values]


def test_the_largest_surprise_is_in_the_last_bucket_and_so_is_all_above():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    assert buckets_of(values, 3.0, 3).tolist() == [0, 1, 2, 2]
    assert buckets_of(values, 1.5, 3).tolist() == [0, 2, 2, 2]


@given(surprises, st.floats(-60, 60), st.integers(1, 30), st.sampled_from(["random", "score"]), st.integers(0, 99))
@settings(max_examples=100, deadline=None)
def test_an_order_begins_with_one_of_each_level(values, upper, buckets, rest, seed):
    order, first = coverage_order(values, upper, buckets, rest, np.random.default_rng(seed))
    levels = buckets_of(values, upper, buckets)
    assert sorted(order.tolist()) == list(range(len(values)))
    assert sorted(levels[order[:first]].tolist()) == sorted(set(levels.tolist()))
    if rest == "score":
        assert (np.diff(values[order[first:]]) <= 0).all()


@pytest.mark.parametrize("rest", ["random", "score"])
def test_every_member_of_a_level_is_as_likely_and_so_is_every_order_of_levels(rest):
    values = np.array([0.0, 0.1, 0.2, 0.3, 0.9])
    rng = np.random.default_rng(0)
    orders = np.array([coverage_order(values, 1.0, 2, rest, rng)[0] for _ in range(4000)])
    low = np.where(orders[:, 0] == 4, orders[:, 1], orders[:, 0])
    assert np.bincount(low, minlength=4)[:4] / 4000 == pytest.approx(0.25, abs=0.03)
    assert (orders[:, 0] == 4).mean() == pytest.approx(0.5, abs=0.03)
