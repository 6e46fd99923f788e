"""Costs on few inputs, made more precise by scaled costs on training inputs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.verbs.assess.cost_scale import (
    DIFFERENT,
    CostScale,
    MeasuredCost,
    combined_cost,
    scale_limits,
    trained_weight,
)
from mutiny.verbs.assess.cost_unit import CostUnit
from mutiny.verbs.assess.fault_search import scaled
from verbs.assess.found import fault

LIMITS = (0.25, 16.0)
UNIT = CostUnit("accuracy points", (0.5, 1.0, 2.0, 4.0, 8.0), relative=False)
costs = st.lists(st.tuples(st.floats(0.3, 15), st.floats(0.01, 30)), min_size=1, max_size=20)


def test_limits_are_the_bins_and_a_factor_of_two():
    assert scale_limits(UNIT.edges) == LIMITS


@given(costs)
def test_the_ratio_is_that_of_the_sums_whatever_the_order(pairs):
    trained, held_out = np.array(pairs).T
    expected = float(np.clip(held_out.sum() / trained.sum(), 0.1, 10))
    assert CostScale.of(pairs, LIMITS).ratio == pytest.approx(expected)
    assert CostScale.of(pairs[::-1], LIMITS).ratio == pytest.approx(expected)


@given(costs, st.sampled_from([0.2, 20.0, 90.0, -3.0]))
def test_faults_outside_of_the_limits_do_not_count(pairs, cost):
    assert CostScale.of([*pairs, (cost, 1.0)], LIMITS).ratio == CostScale.of(pairs, LIMITS).ratio


def test_without_faults_the_ratio_is_one_and_a_prior_pulls_towards_one():
    assert CostScale(LIMITS).ratio == 1.0
    scale = CostScale(LIMITS, prior=4.0)
    scale.add(4.0, 0.0)
    assert scale.ratio == 0.5


def test_noise_of_few_held_out_inputs_averages_out():
    rng = np.random.default_rng(0)
    trained = rng.uniform(0.5, 8, 300)
    held_out = rng.binomial(250, 0.6 * trained / 100) / 2.5  # costs in points on 250 inputs, 0.6 of those on train
    assert CostScale.of(zip(trained, held_out, strict=True), LIMITS).ratio == pytest.approx(0.6, abs=0.03)
    single = np.abs(held_out - 0.6 * trained).mean()
    assert single > 0.5  # while the cost of one fault is known to half a point only


near = st.builds(MeasuredCost, st.floats(0.01, 15), st.floats(0.01, 3))


@given(st.floats(0.1, 10), near, near)
def test_a_cost_lies_between_the_two_and_is_that_with_the_least_variance(ratio, trained, held_out):
    cost = combined_cost(ratio, LIMITS, trained, held_out)
    scaled = ratio * trained.value
    assert min(scaled, held_out.value) - 1e-9 <= cost <= max(scaled, held_out.value) + 1e-9
    variance = (DIFFERENT * scaled) ** 2 + (ratio * trained.error) ** 2
    weights = np.linspace(0, 1, 1001)
    best = weights[(weights**2 * variance + (1 - weights) ** 2 * held_out.error**2).argmin()]
    assert trained_weight(ratio, LIMITS, trained, held_out) == pytest.approx(best, abs=2e-3)


def test_a_precise_cost_decides_and_far_above_the_bins_only_the_held_out_one_does():
    assert combined_cost(0.5, LIMITS, MeasuredCost(4.0, 0.1), MeasuredCost(1.0, 0.001)) == pytest.approx(1.0, abs=1e-4)
    assert combined_cost(0.5, LIMITS, MeasuredCost(0.4, 0.01), MeasuredCost(3.0, 9.0)) == pytest.approx(0.2, abs=1e-2)
    assert combined_cost(0.5, LIMITS, MeasuredCost(60.0, 0.1), MeasuredCost(55.0, 9.0)) == 55.0
    assert combined_cost(0.5, LIMITS, MeasuredCost(0.0, 0.0), MeasuredCost(0.0, 0.0)) == 0.0


def test_the_mean_of_both_misses_the_truth_by_less_than_either():
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.5, 8, 2000)
    errors = 0.6, 1.0
    trained = truth / 0.6 * rng.normal(1, 0.15, 2000) + rng.normal(0, errors[0], 2000)
    held_out = truth + rng.normal(0, errors[1], 2000)
    both = [
        combined_cost(0.6, LIMITS, MeasuredCost(t, errors[0]), MeasuredCost(h, errors[1]))
        for t, h in zip(trained, held_out, strict=True)
    ]
    missed = [np.std(costs - truth) for costs in (np.array(both), 0.6 * trained, held_out)]
    assert missed[0] < 0.9 * min(missed[1:])


def with_costs(trained, held_out, *errors):
    trained, held_out = map(MeasuredCost, (trained, held_out), errors or (1e-9, 1e9))
    return replace(fault(cost=trained.value), trained_cost=trained, held_out_cost=held_out)


def test_all_faults_get_one_scale_and_drastic_ones_their_held_out_cost():
    faults = {"WI": [with_costs(2.0, 0.5), with_costs(4.0, 2.5)], "GF": [with_costs(60.0, 55.0)]}
    found, ratio = scaled(faults, UNIT)
    assert ratio == 0.5
    assert [f.record.cost for f in found["WI"]] == pytest.approx([1.0, 2.0])
    assert found["GF"][0].record.cost == 55.0


def test_costs_of_a_large_reference_set_stay_as_they_are():
    faults = {"WI": [fault(cost=2.0)], "GF": []}
    assert scaled(faults, UNIT) == (faults, None)
