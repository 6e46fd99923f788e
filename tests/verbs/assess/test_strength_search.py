"""Strengths are placed so that faults fall into every bin of cost that the operator can reach."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.stats.notice import POINTS
from mutiny.verbs.assess.strength_search import RUNGS, TRIES, place

MOST = RUNGS + TRIES * (len(POINTS) - 1)
"""Most strengths that a search may try."""


def placed(cost, bounds=(0.0, 1.0)):
    """Bins that are hit, and all strengths that were tried, in their order."""
    tried = []

    def cost_at(strength):
        tried.append(strength)
        return cost(strength)

    costs = place(cost_at, bounds, POINTS)
    assert costs == {strength: cost(strength) for strength in tried if cost(strength) is not None}
    assert all(bounds[0] <= strength <= bounds[1] for strength in tried)
    assert len(tried) <= MOST
    return [any(low <= each < high for each in costs.values()) for low, high in pairwise(POINTS)], tried


@given(st.floats(10, 100), st.floats(0.7, 3))
def test_a_cost_that_is_a_power_of_the_strength_hits_every_bin(largest, exponent):
    hit, _ = placed(lambda strength: largest * strength**exponent)
    assert all(hit)


@given(st.floats(0.02, 0.6), st.floats(6, 40))
def test_a_cost_that_rises_late_and_steeply_hits_most_bins(threshold, steepness):
    def cost(strength):
        return 90 / (1 + math.exp(-steepness * (strength / threshold - 1)))

    hit, _ = placed(lambda strength: cost(strength) - cost(0.0))
    assert sum(hit) >= 3


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (0.0, 100.0), (1.0, 3.0)])
def test_bounds_are_respected_and_their_scale_does_not_matter(bounds):
    low, high = bounds
    hit, tried = placed(lambda strength: 60 * ((strength - low) / (high - low)) ** 1.3, bounds)
    assert all(hit)
    assert tried[0] == high


def test_bins_above_what_the_largest_strength_costs_stay_empty():
    hit, _ = placed(lambda strength: 3 * strength)
    assert hit == [True, True, True, False]


def test_an_operator_that_costs_nothing_is_given_up_soon():
    hit, tried = placed(lambda strength: 0.0)
    assert not any(hit)
    assert len(tried) <= 2


def test_a_plateau_has_no_strength_in_the_bins_that_it_jumps_over():
    """Harmless up to a half, drastic from there on: the search ends, with nothing in the bins."""
    hit, tried = placed(lambda strength: 70.0 if strength >= 0.5 else 0.1)
    assert not any(hit)
    assert max(strength for strength in tried if strength < 0.5) > 0.3


def test_the_largest_strength_may_be_milder_than_smaller_ones():
    """Such as a switch of all neurons, which is a permutation."""
    hit, _ = placed(lambda strength: 80 * strength * (1 - strength))
    assert all(hit)


def test_costs_that_fall_and_rise_still_give_faults():
    hit, _ = placed(lambda strength: max(0.0, 10 * strength + 4 * math.sin(15 * strength)))
    assert sum(hit) >= 3


def test_faults_that_gain_accuracy_do_not_stop_the_search():
    hit, _ = placed(lambda strength: 50 * strength**2 - 0.3)
    assert all(hit)


def test_strengths_with_the_same_effect_as_an_earlier_one_end_a_search():
    """As of an operator that changes a whole number of neurons: below one, there is only one."""
    seen = set()

    def cost_at(strength):
        neurons = max(1, round(20 * strength))
        if neurons in seen:
            return None
        seen.add(neurons)
        return 2.0 * neurons

    costs = place(cost_at, (0.0, 1.0), POINTS)
    assert sorted(costs.values()) == [2.0, 4.0, 14.0, 40.0]


def test_a_known_effect_of_the_largest_strength_does_not_end_the_search():
    """Another parameter may have reached the same patch before."""
    costs = place(lambda strength: None if strength == 1 else 50 * strength**1.5, (0.0, 1.0), POINTS)
    assert sum(any(low <= cost < high for cost in costs.values()) for low, high in pairwise(POINTS)) == 4


def test_an_operator_whose_every_effect_is_known_has_no_faults():
    assert place(lambda strength: None, (0.0, 1.0), POINTS) == {}
