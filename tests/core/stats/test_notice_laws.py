"""Laws of the notice rate, its interval and its plan that hold for any faults."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

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

COSTS = st.floats(0.5, 8, exclude_max=True)
FAULTS = st.lists(st.tuples(COSTS, st.booleans(), st.integers(0, 4)), min_size=1, max_size=30)
OUTSIDE = st.one_of(st.floats(-50, 0.5, exclude_max=True), st.floats(8, 1e6))


def columns(faults):
    return [[fault[place] for fault in faults] for place in range(3)]


@given(FAULTS, st.randoms(use_true_random=False))
def test_the_order_of_faults_does_not_matter(faults, random):
    costs, noticed, units = columns(faults)
    shuffled = columns(random.sample(faults, len(faults)))
    assert notice_rate(*shuffled[:2]) == notice_rate(costs, noticed)
    assert notice_bins(*shuffled[:2]) == notice_bins(costs, noticed)
    before, after = notice_interval(costs, noticed, units), notice_interval(*shuffled)
    if before is None:
        assert after is None
    else:
        assert (after.low, after.high) == pytest.approx((before.low, before.high))


@given(FAULTS, st.integers(0, 29))
def test_one_more_fault_in_a_bin_that_has_some_moves_the_rate_towards_its_verdict(faults, place):
    costs, noticed, _ = columns(faults)
    rate, cost = notice_rate(costs, noticed), costs[place % len(costs)]
    assert notice_rate([*costs, cost], [*noticed, True]) >= rate - 1e-12
    assert notice_rate([*costs, cost], [*noticed, False]) <= rate + 1e-12


@given(FAULTS, st.lists(st.tuples(OUTSIDE, st.booleans(), st.integers(0, 9)), max_size=5))
def test_harmless_and_drastic_faults_change_neither_rate_nor_interval(faults, outside):
    costs, noticed, units = columns(faults)
    more = columns([*faults, *outside])
    assert notice_rate(*more[:2]) == notice_rate(costs, noticed)
    assert notice_bins(*more[:2]) == notice_bins(costs, noticed)
    assert notice_interval(*more) == notice_interval(costs, noticed, units)


@given(FAULTS)
def test_copies_of_all_faults_leave_the_rate(faults):
    costs, noticed, _ = columns(faults)
    assert notice_rate(costs * 3, noticed * 3) == pytest.approx(notice_rate(costs, noticed))


@given(FAULTS)
def test_noticing_everything_or_nothing_is_one_or_zero(faults):
    costs, noticed, _ = columns(faults)
    assert notice_rate(costs, [True] * len(costs)) == 1
    assert notice_rate(costs, [False] * len(costs)) == 0
    opposite = notice_rate(costs, [not hit for hit in noticed])
    assert opposite == pytest.approx(1 - notice_rate(costs, noticed))


@given(FAULTS)
def test_the_interval_contains_the_rate_and_is_a_part_of_the_unit_interval(faults):
    costs, noticed, units = columns(faults)
    interval, rate = notice_interval(costs, noticed, units), notice_rate(costs, noticed)
    if interval is not None:
        assert 0 <= interval.low <= interval.high <= 1
        if 0 < rate < 1:
            assert interval.low < rate < interval.high
        else:  # the logit is moved inwards by half a fault
            assert interval.low <= 0.5 / (len(faults) + 1) or rate == 1
            assert interval.high >= 1 - 0.5 / (len(faults) + 1) or rate == 0


@given(FAULTS, st.floats(0.5, 0.99), st.floats(0.001, 0.009))
def test_more_confidence_needs_a_wider_interval(faults, level, more):
    costs, noticed, units = columns(faults)
    narrow, wide = (notice_interval(costs, noticed, units, level=each) for each in (level, level + more))
    if narrow is not None:
        assert wide.low <= narrow.low
        assert wide.high >= narrow.high
        assert narrow.level == level


@given(FAULTS)
def test_exchanging_noticed_and_missed_mirrors_the_interval(faults):
    costs, noticed, units = columns(faults)
    interval, mirrored = (notice_interval(costs, np.array(noticed) == side, units) for side in (True, False))
    if interval is not None:
        assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((interval.low, interval.high), abs=1e-9)


def test_fewer_originals_give_wider_intervals_on_average():
    rng = np.random.default_rng(5)
    widths = {units: [] for units in (3, 6, 12, 24)}
    for units, found in widths.items():
        costs, originals = np.tile(np.repeat([0.7, 1.4, 2.8, 5.6], 4), units), np.repeat(np.arange(units), 16)
        for _ in range(60):
            chance = 1 / (1 + np.exp(-np.log2(costs) - rng.normal(0, 0.7, units)[originals]))
            interval = notice_interval(costs, rng.random(len(costs)) < chance, originals)
            found.append(interval.high - interval.low)
    means = [np.mean(found) for found in widths.values()]
    assert means == sorted(means, reverse=True)
    assert means[0] > 2 * means[-1]


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 5), st.integers(0, 5))
def test_mcnemar_is_monotone_in_both_counts(broken, repaired, more, fewer):
    p = float(mcnemar_worse(broken, repaired))
    assert 0 <= p <= 1
    assert mcnemar_worse(broken + more, max(0, repaired - fewer)) <= p * (1 + 1e-12)
    assert mcnemar_worse(max(0, broken - fewer), repaired + more) >= p * (1 - 1e-12)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_counts_both_tails_once(broken, repaired):
    """P(X >= b) + P(X <= b) = 1 + P(X = b), and the lower tail is the upper one of the other count."""
    both = float(mcnemar_worse(broken, repaired) + mcnemar_worse(repaired, broken))
    assert both == pytest.approx(1 + reference.binom.pmf(broken, broken + repaired, 0.5), rel=1e-9)


def test_mcnemar_of_large_counts_is_the_binomial_test():
    for broken, repaired in ((40_000, 39_500), (10**6, 998_000), (5000, 0)):
        expected = reference.binom.sf(broken - 1, broken + repaired, 0.5)
        assert mcnemar_worse(broken, repaired) == pytest.approx(expected, rel=1e-6)


def test_mcnemar_works_on_arrays():
    broken, repaired = np.arange(6)[:, None], np.arange(4)
    table = mcnemar_worse(broken, repaired)
    assert table.shape == (6, 4)
    assert table[5, 2] == mcnemar_worse(5, 2) == pytest.approx(29 / 128)


@pytest.mark.parametrize(("broken", "repaired"), [(0.05, 0.0), (0.04, 0.01), (0.2, 0.1), (0.5, 0.2)])
def test_the_plan_is_the_smallest_number_with_enough_power(broken, repaired):
    number = inputs_for_power(broken, repaired)
    powers = [notice_power(inputs, broken, repaired) for inputs in range(1, 3 * number)]
    assert next(inputs for inputs, power in enumerate(powers, 1) if power >= 0.8) == number
    assert min(powers[number - 1 :]) >= 0.799


@given(st.floats(0.002, 0.2), st.floats(0, 0.8), st.floats(1.05, 3))
@settings(deadline=None, max_examples=40)
def test_dearer_faults_and_fewer_repairs_need_fewer_inputs(cost, repairs, factor):
    def inputs(cost, repairs):
        return inputs_for_power(cost / (1 - repairs), cost * repairs / (1 - repairs))

    number = inputs(cost, repairs)
    dearer, cleaner = inputs(cost * factor, repairs), inputs(cost, repairs / factor)
    if number is not None and dearer is not None:
        assert dearer <= number
    if number is not None:
        assert cleaner <= number


@pytest.mark.parametrize(
    ("inputs", "broken", "repaired"), [(1, 0.5, 0.2), (7, 0.6, 0.4), (30, 0.1, 0.1), (45, 0.15, 0.0)]
)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_power_is_a_double_sum(inputs, broken, repaired, alpha):
    total = 0.0
    for worse in range(inputs + 1):
        for better in range(inputs + 1 - worse):
            if reference.binom.sf(worse - 1, worse + better, 0.5) < alpha:
                rest = inputs - worse - better
                total += reference.multinomial.pmf(
                    [worse, better, rest], inputs, [broken, repaired, 1 - broken - repaired]
                )
    assert notice_power(inputs, broken, repaired, alpha) == pytest.approx(total, rel=1e-8, abs=1e-12)


def test_where_every_answer_changes_more_inputs_may_have_less_power():
    """Exact tests lose power where one more break is needed; the planned number has enough of it all the same."""
    number = inputs_for_power(0.9, 0.1)
    assert notice_power(number, 0.9, 0.1) >= 0.8
    assert 8 <= number <= 11


@pytest.mark.parametrize(("broken", "repaired"), [(0.0103, 0.01), (0.105, 0.1), (0.3, 0.29), (1e-6, 0.95e-6)])
def test_plans_for_small_differences_take_no_time_and_have_enough_power(broken, repaired):
    """Hundreds of thousands of inputs, of which thousands change."""
    number = inputs_for_power(broken, repaired)
    if number is None:
        assert notice_power(10**8, broken, repaired) < 0.8
    else:
        assert 0.798 < notice_power(number, broken, repaired) < 0.805


@pytest.mark.parametrize("variation", [0.1, 0.3, 0.6])
@pytest.mark.parametrize(("broken", "repaired"), [(0.03, 0.01), (0.012, 0.002), (0.1, 0.06)])
def test_a_plan_for_faults_that_differ_has_enough_power_on_average(broken, repaired, variation):
    number = inputs_for_power(broken, repaired, variation=variation)
    factors = reference.gamma(variation**-2, scale=variation**2).ppf(np.arange(0.0025, 1, 0.005))
    powers = [notice_power(number, broken * factor, repaired * factor) for factor in factors]
    assert 0.78 < np.mean(powers) < 0.82
    assert number > inputs_for_power(broken, repaired)


def test_power_of_no_difference_is_below_alpha():
    for inputs in (10, 100, 2000):
        assert notice_power(inputs, 0.1, 0.1) < 0.05


def test_plans_that_no_number_of_inputs_fulfills():
    assert inputs_for_power(0.01, 0.01) is None  # breaks as much as it repairs
    assert inputs_for_power(0.01, 0.02) is None
    assert inputs_for_power(0.8, 0.3) is None  # more than all answers
    assert inputs_for_power(1e-9, 0.0) is None  # more than 100 million inputs
    assert inputs_for_power(1.0, 0.0) == 5  # five broken answers of five


def test_an_answer_of_a_sample_varies_like_the_inputs_that_it_stands_for():
    """Faults that break 8 to 16 answers and repair 4, of which one in four was sampled."""
    broken, rng = (2, 3, 3, 4, 4), np.random.default_rng(0)

    def variance(times, **more):
        rows = [(fault, sign) for fault in range(5) for sign in [-1] * times * broken[fault] + [1] * times]
        positions = np.concatenate([rng.permutation(4000)[: times * (number + 1)] for number in broken])
        fault, sign = zip(*rows, strict=True)
        return variance_over_inputs([1.5] * 5, fault, positions, sign, 4000, 0, resamples=600, **more)

    assert variance(1, weight=[4.0] * 21) == pytest.approx(variance(4), rel=0.35)
    assert variance(4) > 0.1
    fault, sign = [0] * 6, [-1] * 6
    plain, weighted = (variance_over_inputs([1.5], fault, range(6), sign, 90, 0, weight=w) for w in (None, [1.0] * 6))
    assert plain == weighted > 0


def test_costs_that_are_not_numbers_belong_to_no_bin():
    assert notice_rate([np.nan, np.inf, -np.inf, 1.5], [True, True, True, False]) == 0.0
    assert sum(each.faults for each in notice_bins([np.nan, np.inf], [True, True])) == 0


@pytest.mark.parametrize("level", [0.0, 1.0, 2.0, -1.0])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(BadInput, match="level"):
        notice_interval([1.0, 2.0], [True, False], [0, 1], level=level)


def test_edges_belong_to_the_bin_above():
    counts = [each.faults for each in notice_bins(POINTS, [True] * 5)]
    assert counts == [1, 1, 1, 1]  # eight points are drastic
