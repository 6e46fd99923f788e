"""The notice rate: against scipy, loops spelled out, and simulations of what its intervals promise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.special import expit, logit

from mutiny.core.errors import BadInput
from mutiny.core.stats.notice import (
    POINTS,
    mcnemar_worse,
    notice_bins,
    notice_interval,
    notice_rate,
    variance_over_inputs,
)
from mutiny.core.stats.notice_power import inputs_for_power, notice_power

FAULTS = st.lists(st.tuples(st.floats(0, 12), st.booleans(), st.integers(0, 4)), max_size=40)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_scipy(broken, repaired):
    total = broken + repaired
    expected = reference.binomtest(broken, total, alternative="greater").pvalue if total else 1.0
    assert mcnemar_worse(broken, repaired) == pytest.approx(expected, rel=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_more_broken_answers_are_never_less_significant(broken, repaired):
    p = float(mcnemar_worse(broken, repaired))
    assert mcnemar_worse(broken + 1, repaired) <= p <= mcnemar_worse(broken, repaired + 1)


def test_a_harmless_change_is_noticed_at_most_as_often_as_alpha_says():
    for changed in range(200):
        chance = reference.binom.pmf(np.arange(changed + 1), changed, 0.5)
        p_values = mcnemar_worse(np.arange(changed + 1), changed - np.arange(changed + 1))
        assert chance[p_values < 0.05].sum() < 0.05


def test_negative_counts_are_refused():
    with pytest.raises(BadInput, match="broken, repaired"):
        mcnemar_worse([3, -1], [0, 0])


def rate_spelled_out(costs, noticed):
    shares = []
    for low, high in pairwise(POINTS):
        inside = [hit for cost, hit in zip(costs, noticed, strict=True) if low <= cost < high]
        if inside:
            shares.append(sum(inside) / len(inside))
    return sum(shares) / len(shares) if shares else None


@given(FAULTS)
def test_the_rate_is_the_mean_over_bins_that_have_faults(faults):
    costs, noticed = [cost for cost, _, _ in faults], [hit for _, hit, _ in faults]
    expected = rate_spelled_out(costs, noticed)
    assert notice_rate(costs, noticed) == (None if expected is None else pytest.approx(expected))
    bins = notice_bins(costs, noticed)
    assert sum(bin_.faults for bin_ in bins) == sum(0.5 <= cost < 8 for cost in costs)
    assert [(bin_.low, bin_.high) for bin_ in bins] == [(0.5, 1), (1, 2), (2, 4), (4, 8)]


@given(FAULTS, st.data())
def test_one_more_noticed_fault_never_lowers_the_rate(faults, data):
    costs, noticed = [cost for cost, _, _ in faults], [hit for _, hit, _ in faults]
    before = notice_rate(costs, noticed)
    if before is not None:
        index = data.draw(st.integers(0, len(faults) - 1))
        noticed[index] = True
        assert notice_rate(costs, noticed) >= before


@given(FAULTS)
def test_the_interval_is_the_jackknife_spelled_out(faults):
    faults = [fault for fault in faults if 0.5 <= fault[0] < 8]
    costs, noticed, units = ([fault[place] for fault in faults] for place in range(3))
    interval = notice_interval(costs, noticed, units)
    if len(set(units)) < 2:
        assert interval is None
        return

    def value(some):
        rate, number = rate_spelled_out([f[0] for f in some], [f[1] for f in some]), len(some)
        return logit(((rate or 0) * number + 0.5) / (number + 1))

    left_out = [value([fault for fault in faults if fault[2] != unit]) for unit in sorted(set(units))]
    count = len(left_out)
    jackknife = (count - 1) / count * sum((v - np.mean(left_out)) ** 2 for v in left_out)
    half = reference.t.ppf(0.975, count - 1) * math.sqrt(jackknife)
    low, high = expit(value(faults) - half), expit(value(faults) + half)
    assert interval.low <= low + 1e-9  # wider where the units agree by chance
    assert interval.high >= high - 1e-9
    assert 0 <= interval.low <= notice_rate(costs, noticed) <= interval.high <= 1
    assert interval.low < interval.high
    wider = notice_interval(costs, noticed, units, other_variance=0.5)
    assert wider.low < interval.low or wider.low == interval.low == 0  # the ends of rates of 0 and 1 stay there
    assert wider.high > interval.high or wider.high == interval.high == 1


def test_units_that_agree_leave_room_for_doubt():
    costs = np.tile([0.7, 1.5, 3.0, 6.0], 10)
    interval = notice_interval(costs, np.ones(40, bool), np.repeat(range(10), 4))
    assert 0.8 < interval.low < 0.99
    assert interval.high > 0.99


@pytest.mark.parametrize(("units", "scatter"), [(5, 0.0), (10, 0.0), (10, 0.5), (10, 1.0), (20, 0.5)])
def test_the_interval_covers_the_truth(units, scatter):
    """Faults of one original are alike: each original moves the logit of all its faults."""
    rng = np.random.default_rng(units * 10 + int(scatter * 10))
    costs = np.tile(np.repeat([0.7, 1.4, 2.8, 5.6], 8), units)
    base = np.tile(np.repeat([-0.5, 0.8, 2.0, 4.0], 8), units)
    originals = np.repeat(np.arange(units), 32)
    population = rng.normal(0, scatter, 200_000)[:, None] + np.array([-0.5, 0.8, 2.0, 4.0])
    truth = float(expit(population).mean())
    covered = []
    for _ in range(400):
        moved = base + rng.normal(0, scatter, units)[originals]
        interval = notice_interval(costs, rng.random(len(costs)) < expit(moved), originals)
        covered.append(interval.low <= truth <= interval.high)
    assert 0.92 <= np.mean(covered) <= 0.99


def test_the_second_interval_covers_what_other_test_sets_say():
    """Some inputs depend on nothing but luck: test sets are drawn from one population, and their mean is the truth."""
    rng = np.random.default_rng(0)
    size, faults, population = 400, 60, 40_000
    costs = np.exp(rng.uniform(math.log(0.5), math.log(8), faults))
    # hard inputs break under many faults, so that all faults depend on which inputs were drawn
    hardness = rng.gamma(0.3, 1 / 0.3, population)
    changes = rng.random((faults, population)) < np.minimum(1, costs[:, None] / 100 * hardness)

    def broken(inputs):
        return changes[:, inputs].sum(1)

    def rate(inputs):
        return notice_rate(costs, mcnemar_worse(broken(inputs), 0) < 0.05)

    draws = [rng.choice(population, size, replace=False) for _ in range(150)]
    rates = np.array([rate(inputs) for inputs in draws])
    truth = rates.mean()
    covered = []
    for inputs in draws[:60]:
        fault, position = np.nonzero(changes[:, inputs])
        variance = variance_over_inputs(costs, fault, position, -np.ones(len(fault)), size, 0, resamples=60)
        noticed = mcnemar_worse(broken(inputs), 0) < 0.05
        interval = notice_interval(costs, noticed, np.arange(faults) % 10, other_variance=variance)
        covered.append(interval.low <= truth <= interval.high)
    assert np.mean(covered) >= 0.9


def test_power_is_that_of_a_loop_and_of_a_simulation():
    def spelled_out(inputs, broken, repaired):
        total, rate = 0.0, broken + repaired
        for changed in range(inputs + 1):
            for worse in range(changed + 1):
                if reference.binom.sf(worse - 1, changed, 0.5) < 0.05:
                    total += reference.binom.pmf(changed, inputs, rate) * reference.binom.pmf(
                        worse, changed, broken / rate
                    )
        return total

    assert notice_power(60, 0.12, 0.03) == pytest.approx(spelled_out(60, 0.12, 0.03), rel=1e-8)
    assert notice_power(25, 0.3, 0.0) == pytest.approx(spelled_out(25, 0.3, 0.0), rel=1e-8)
    counts = np.random.default_rng(1).multinomial(900, [0.012, 0.002, 0.986], 20_000)
    simulated = (mcnemar_worse(counts[:, 0], counts[:, 1]) < 0.05).mean()
    assert notice_power(900, 0.012, 0.002) == pytest.approx(simulated, abs=0.015)
    assert notice_power(100, 0.0, 0.0) == 0.0


@pytest.mark.parametrize(("cost", "low", "high"), [(0.02, 415, 540), (0.01, 830, 1070), (0.005, 1661, 2160)])
def test_the_plan_needs_as_many_inputs_as_were_measured(cost, low, high):
    """With 10 to 23% as many repairs as breaks, as trained networks showed."""
    fewest, most = (inputs_for_power(cost / (1 - repairs), cost * repairs / (1 - repairs)) for repairs in (0.10, 0.23))
    assert fewest == low
    assert fewest <= most <= high


@pytest.mark.parametrize("repairs", [0.0, 0.2, 0.5])
def test_the_planned_number_is_enough_and_a_little_less_is_not(repairs):
    broken = 0.03 / (1 - repairs)
    number = inputs_for_power(broken, repairs * broken)
    assert notice_power(number, broken, repairs * broken) >= 0.8
    assert notice_power(int(number * 0.95), broken, repairs * broken) < 0.8


def test_plans_that_cannot_be():
    assert inputs_for_power(1.8, 0.9) is None  # would have to break more answers than there are
    assert inputs_for_power(0.1, 0.1) is None  # costs nothing
    assert inputs_for_power(1e-9, 0.0) is None  # would need more inputs than anybody plans


def test_shapes_are_checked():
    with pytest.raises(BadInput, match="two vectors of the same length"):
        notice_rate([1.0, 2.0], [True])
    with pytest.raises(BadInput, match="one unit for each fault"):
        notice_interval([1.0, 2.0], [True, False], [1])
    assert variance_over_inputs([20.0], [0], [0], [-1], 10, 0) == 0.0
