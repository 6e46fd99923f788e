"""Metrics of test selection: against loops from the definitions, all permutations, scikit-learn; laws; the paper."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from scipy.integrate import trapezoid
from sklearn.metrics import roc_auc_score

from mutiny.core.errors import BadInput
from mutiny.verbs.select.metrics import (
    Rauc,
    Repeated,
    apfd,
    budgets,
    expected_apfd,
    expected_fdr,
    expected_rauc,
    expected_type_curve,
    fault_types,
    fdr,
    ideal_order,
    ideal_type_order,
    max_apfd,
    over_repeats,
    rauc,
    type_curve,
)

flags = st.lists(st.booleans(), min_size=1, max_size=30)
kinds = st.lists(st.integers(-1, 5), min_size=1, max_size=30)
SMALL = [[-1, 4, 4, 7, -1, -1], [3, 3, 3, 8], [0, 1, 2], [-1, -1, 2, 2, 2], [5]]


def shuffled(values, seed):
    order = np.random.default_rng(seed).permutation(len(values))
    return order, np.array(values)


def loop_apfd(order, faults):
    """The formula, fault by fault; ``faults`` is one set of revealing inputs for each."""
    n, m = len(order), len(faults)
    total = sum(min(place for place, index in enumerate(order, 1) if index in fault) for fault in faults)
    return 1 - total / (n * m) + 1 / (2 * n)


def loop_curve(order, types, steps):
    return [len({types[index] for index in order[:step]} - {-1}) for step in steps]


def faults_of(types):
    return [{i for i, code in enumerate(types) if code == kind} for kind in set(types) - {-1}]


# Faults


def test_the_example_of_table_2():
    """Scores 0.4, 0, 0.3, 0.25, 0.2, 0.1 put x1, x3, x4, x5, x6, x2 in this order; say x1, x4 and x6 are wrong."""
    scores = np.array([0.4, 0, 0.3, 0.25, 0.2, 0.1])
    wrong = np.array([True, False, False, True, False, True])
    order = np.argsort(-scores, kind="stable")
    assert [f"x{i + 1}" for i in order] == ["x1", "x3", "x4", "x5", "x6", "x2"]
    assert [fdr(order, wrong, k) for k in range(1, 7)] == [1, 1 / 2, 2 / 3, 2 / 4, 3 / 5, 3 / 6]
    assert apfd(order, wrong) == pytest.approx(1 - (1 + 3 + 5) / (6 * 3) + 1 / 12)
    types = fault_types([1, 0, 0, 1, 0, 2], [2, 0, 0, 2, 0, 1])  # x1 and x4 are 1 -> 2, x6 is 2 -> 1
    assert apfd(order, types, per="type") == pytest.approx(1 - (1 + 5) / (6 * 2) + 1 / 12)
    assert type_curve(order, types, range(7)).tolist() == [0, 1, 1, 1, 1, 2, 2]


@given(flags, st.integers(0, 99), st.data())
@settings(deadline=None, max_examples=50)
def test_fdr_is_the_share_of_the_first(wrong, seed, data):
    order, wrong = shuffled(wrong, seed)
    budget = data.draw(st.integers(1, len(wrong)))
    assert fdr(order, wrong, budget) == sum(bool(wrong[i]) for i in order[:budget]) / budget
    assert fdr(order, wrong, budget) == fdr(order[:budget], wrong, budget) <= fdr(ideal_order(wrong), wrong, budget)
    assert fdr(order, wrong, len(wrong)) == expected_fdr(wrong) == np.mean(wrong)


@given(flags, st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_apfd_per_input_is_the_formula_and_the_area_under_the_curve(wrong, seed):
    assume(any(wrong))
    order, wrong = shuffled(wrong, seed)
    found, n, m = wrong[order], len(wrong), wrong.sum()
    value = apfd(order, wrong)
    assert value == pytest.approx(loop_apfd(order, [{i} for i in np.flatnonzero(wrong)]))
    assert value == pytest.approx(1 - (np.flatnonzero(found) + 1).sum() / (m * n) + 1 / (2 * n))  # as dnn-tip says it
    assert value == pytest.approx(trapezoid(np.cumsum(np.append(0, found)) / m, dx=1 / n))
    if m < n:
        auc = roc_auc_score(found, -np.arange(n))
        assert value == pytest.approx((auc * (n - m) + m / 2) / n)


@given(kinds, st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_apfd_per_type_is_the_formula(types, seed):
    assume(max(types) >= 0)
    order, types = shuffled(types, seed)
    assert apfd(order, types, per="type") == pytest.approx(loop_apfd(order, faults_of(types.tolist())))


@given(flags, st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_bounds_of_apfd(wrong, seed):
    assume(any(wrong))
    order, wrong = shuffled(wrong, seed)
    best, worst = apfd(ideal_order(wrong), wrong), apfd(ideal_order(wrong)[::-1], wrong)
    assert 0 <= worst <= apfd(order, wrong) <= best <= 1
    assert best == pytest.approx(max_apfd(len(wrong), int(wrong.sum())))
    assert worst == pytest.approx(1 - best)


@given(kinds, st.integers(0, 99), st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_names_of_inputs_and_types_do_not_matter(types, seed, other):
    order, types = shuffled(types, seed)
    names = np.random.default_rng(other).permutation(len(types))
    moved = np.empty_like(types)
    moved[names] = types
    codes = np.append(np.random.default_rng(other).permutation(6) + 10, -1)
    assert apfd(names[order], moved >= 0) == apfd(order, types >= 0)
    assert apfd(names[order], codes[moved], per="type") == apfd(order, types, per="type")
    assert rauc(names[order], codes[moved], share=1, classes=4) == rauc(order, types, share=1, classes=4)


@given(kinds, st.integers(0, 99), st.data())
@settings(deadline=None, max_examples=50)
def test_a_shorter_order_is_judged_by_the_area_under_its_part_of_the_curve(types, seed, data):
    assume(max(types) >= 0)
    order, types = shuffled(types, seed)
    length = data.draw(st.integers(1, len(types)))
    found = np.array(loop_curve(order, types, range(length + 1))) / len(set(types.tolist()) - {-1})
    value = apfd(order[:length], types, per="type")
    assert value == pytest.approx(trapezoid(found, dx=1 / length))
    assert 0 <= value <= 1


def test_a_shorter_order_that_reveals_nothing_is_worth_nothing():
    wrong = np.arange(100) >= 3
    assert apfd([0], wrong) == apfd([0, 1, 2], wrong) == 0


def test_apfd_without_faults_is_undefined():
    assert apfd([1, 0], [False, False]) is None
    assert apfd([1, 0], [-1, -1], per="type") is None
    assert apfd(range(100), [-1] * 100, per="type", variant="authors-code") is None
    assert expected_apfd([False]) is None
    assert expected_apfd([-1], per="type") is None
    assert rauc([1, 0], [-1, -1], classes=2, share=1) is None
    assert expected_rauc([-1, -1], normalize="ideal", share=1) is None
    assert expected_fdr([False, False]) == fdr([0, 1], [False, False], 1) == 0


def test_apfd_of_the_published_script_by_hand():
    """A pool of 100, so five inputs count: types 8, 9 at places 0 and 3; what comes later is not looked at."""
    types = np.full(100, -1)
    types[[40, 41, 42, 43]] = 8, 8, 9, 5
    order = [40, 0, 41, 42, 1, 43, *range(2, 40), *range(44, 100)]
    expected = 1 - (0 + 3) / (5 * 2) + 1 / 10
    assert apfd(order, types, per="type", variant="authors-code") == pytest.approx(expected)
    assert apfd(order[:5], types, per="type", variant="authors-code") == pytest.approx(expected)
    later = 1 - (1 + 2 + 4) / (5 * 3) + 1 / 10  # without input 40 the fifth is 43, a third type
    assert apfd(order[1:], types, per="type", variant="authors-code") == pytest.approx(later)
    types[42] = 8
    assert apfd(order, types, per="type", variant="authors-code") == 1.1  # above 1: it counts from 0
    assert apfd([0], [3], per="type", variant="authors-code") == 1.5  # at least one input counts


# Section 4.3.3: fault rate (random selection in Table 7), its largest APFD, and the APFD that Table 9 reports for NSS.
TABLE_9 = {
    "MNIST, LeNet-1": (21.3, 89.35, 99.18),
    "MNIST, LeNet-5": (18.7, 90.65, 98.84),
    "Fashion, LeNet-1": (31.3, 84.35, 87.15),
    "Fashion, ResNet-20": (26.2, 86.90, 86.42),
    "SVHN, LeNet-5": (28.9, 85.55, 96.24),
    "SVHN, VGG-16": (15.9, 92.05, 89.06),
    "CIFAR-10, VGG-16": (30.8, 84.60, 85.95),
    "CIFAR-10, ResNet-20": (28.9, 85.55, 99.87),
}


def test_most_of_table_9_is_beyond_the_largest_apfd():
    for rate, largest, _ in TABLE_9.values():
        assert 100 * max_apfd(10_000, round(100 * rate)) == pytest.approx(largest, abs=0.005)
    assert sum(reported > largest for _, largest, reported in TABLE_9.values()) == 6


# Fault types


def test_fault_types_of_any_classes():
    truth, predicted = [-5, 10**12, 3, 3, -5, 3], [10**12, -5, 3, -5, 10**12, 10**12]
    types = fault_types(truth, predicted)
    pairs = list(zip(truth, predicted, strict=True))
    for a, b in itertools.combinations(range(6), 2):
        assert (types[a] == types[b]) == (pairs[a] == pairs[b])
    assert (types == -1).tolist() == [a == b for a, b in pairs]
    assert types.dtype == np.int64
    named = fault_types(["cat", "dog", "dog"], ["dog", "cat", "dog"])
    assert named[0] != named[1] >= 0
    assert named[2] == -1


def test_ten_classes_have_ninety_types():
    truth, predicted = np.divmod(np.arange(100), 10)
    types = fault_types(truth, predicted)
    assert len(set(types[types >= 0])) == 90
    assert rauc(ideal_type_order(types), types, share=1, steps=1, classes=10) == Rauc(1.0, 90, "possible")


@given(kinds, st.integers(0, 99))
@settings(deadline=None, max_examples=50)
def test_type_curve_is_the_count_of_distinct_types(types, seed):
    order, types = shuffled(types, seed)
    steps = range(len(types) + 1)
    assert type_curve(order, types, steps).tolist() == loop_curve(order, types, steps)
    best = type_curve(ideal_type_order(types), types, steps)
    assert best.tolist() == [min(step, len(set(types.tolist()) - {-1})) for step in steps]


@given(kinds)
@settings(deadline=None, max_examples=30)
def test_the_ideal_order_of_types_is_also_one_of_inputs(types):
    types = np.array(types)
    assert sorted(ideal_type_order(types)) == list(range(len(types)))
    assert apfd(ideal_type_order(types), types >= 0) == apfd(ideal_order(types >= 0), types >= 0)


def test_budgets():
    assert budgets(10_000).tolist() == list(range(100, 2001, 100))
    assert budgets(50, share=0.1, steps=10).tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert budgets(7, share=1, steps=1).tolist() == [7]
    for n in (100, 1000, 3000, 70_000):
        assert budgets(n).tolist() == [n * step // 100 for step in range(1, 21)]


def test_rauc_is_the_published_sum():
    """Types after each hundredth of the pool up to a fifth, over 90 * 20."""
    rng = np.random.default_rng(0)
    truth, predicted = rng.integers(0, 10, (2, 1000))
    types, order = fault_types(truth, predicted), rng.permutation(1000)
    seen, counts = set(), []
    for batch in order.reshape(100, 10)[:20]:
        seen |= {(truth[i], predicted[i]) for i in batch if truth[i] != predicted[i]}
        counts.append(len(seen))
    assert rauc(order, types, classes=10) == Rauc(pytest.approx(sum(counts) / (90 * 20)), 90, "possible")
    assert rauc(order[:200], types, classes=10) == rauc(order, types, classes=10)
    present = len(set(types.tolist()) - {-1})
    assert rauc(order, types, normalize="present") == Rauc(pytest.approx(np.mean(counts) / present), present, "present")
    best = sum(min(present, 10 * step) for step in range(1, 21))
    assert rauc(order, types, normalize="ideal") == Rauc(pytest.approx(sum(counts) / best), present, "ideal")


@given(kinds, st.integers(0, 99), st.sampled_from([0.2, 0.5, 1.0]), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_laws_of_rauc(types, seed, share, steps):
    assume(max(types) >= 0 and round(share * len(types)) >= 1)
    order, types = shuffled(types, seed)
    ideal = rauc(order, types, share, steps, "ideal").value
    present = rauc(order, types, share, steps, "present").value
    possible = rauc(order, types, share, steps, "possible", classes=4).value
    assert 0 <= possible <= present <= ideal + 1e-12
    assert ideal <= 1
    assert rauc(ideal_type_order(types), types, share, steps, "ideal").value == 1


@given(kinds, st.integers(0, 99), st.data())
@settings(deadline=None, max_examples=50)
def test_a_new_type_earlier_is_never_worse(types, seed, data):
    """It changes places with an input that shows nothing new."""
    order, types = shuffled(types, seed)
    curve = loop_curve(order, types, range(len(types) + 1))
    new = [place for place in range(len(types)) if curve[place + 1] > curve[place]]
    swaps = [(old, late) for late in new for old in range(late) if old not in new]
    assume(swaps)
    old, late = data.draw(st.sampled_from(swaps))
    better = order.copy()
    better[[old, late]] = order[[late, old]]
    assert apfd(better, types, per="type") > apfd(order, types, per="type")
    for normalize in ("possible", "present", "ideal"):
        values = [rauc(o, types, 1, len(types), normalize, classes=4).value for o in (better, order)]
        assert values[0] > values[1]


# What chance would find


@pytest.mark.parametrize("types", SMALL, ids=str)
def test_expectations_are_means_over_all_orders(types):
    n, wrong = len(types), np.array(types) >= 0
    orders = [np.array(order) for order in itertools.permutations(range(n))]
    assert expected_apfd(wrong) == 0.5
    assert np.mean([apfd(order, wrong) for order in orders]) == pytest.approx(0.5)
    assert expected_apfd(types, per="type") == pytest.approx(np.mean([apfd(o, types, per="type") for o in orders]))
    for budget in range(1, n + 1):
        assert np.mean([fdr(order, wrong, budget) for order in orders]) == pytest.approx(expected_fdr(wrong))
    steps = range(n + 1)
    curves = np.mean([loop_curve(order, types, steps) for order in orders], axis=0)
    assert expected_type_curve(types, steps) == pytest.approx(curves, abs=1e-12)
    for normalize in ("possible", "present", "ideal"):
        drawn = [rauc(order, types, 0.8, 3, normalize, classes=5) for order in orders]
        expected = expected_rauc(types, 0.8, 3, normalize, classes=5)
        assert expected.value == pytest.approx(np.mean([one.value for one in drawn]))
        assert {(one.total, one.normalize) for one in drawn} == {(expected.total, expected.normalize)}


@pytest.mark.parametrize("types", [types for types in SMALL if len(types) > 3], ids=str)
def test_no_order_beats_the_ideal_ones(types):
    wrong, best = np.array(types) >= 0, ideal_type_order(types)
    for order in itertools.permutations(range(len(types))):
        assert apfd(order, wrong) <= apfd(ideal_order(wrong), wrong)
        assert apfd(order, types, per="type") <= apfd(best, types, per="type")
        assert rauc(order, types, 1, 4, "present").value <= rauc(best, types, 1, 4, "present").value


def test_the_expected_curve_of_a_large_pool_is_exact():
    types = np.repeat([-1, 0, 1, 2, 3], [9000, 1, 9, 90, 900])
    steps = [0, 1, 100, 5000, 9999, 10_000]
    exact = [sum(1 - math.comb(10_000 - k, b) / math.comb(10_000, b) for k in (1, 9, 90, 900)) for b in steps]
    assert expected_type_curve(types, steps) == pytest.approx(exact, rel=1e-9, abs=1e-9)


# Repeats


@given(st.lists(st.floats(0, 1), min_size=2, max_size=8), st.sampled_from([0.9, 0.95]))
@settings(deadline=None, max_examples=50)
def test_over_repeats_is_the_t_interval(values, level):
    result = over_repeats(values, level)
    assert result.n == len(values)
    assert result.mean == pytest.approx(np.mean(values))
    assume(np.ptp(values) > 1e-6)
    low, high = reference.ttest_1samp(values, 0).confidence_interval(level)
    assert (result.interval.low, result.interval.high) == pytest.approx((low, high), abs=1e-9)


def test_over_repeats_of_one_and_of_equal_values():
    assert over_repeats([0.25]) == Repeated(0.25, 1, None)
    equal = over_repeats([0.5, 0.5, 0.5])
    assert equal.interval.low == equal.interval.high == equal.mean == 0.5
    with pytest.raises(BadInput, match="values"):
        over_repeats([0.5, None])  # a measure that was undefined in one repeat
    with pytest.raises(BadInput, match="level"):
        over_repeats([0.5], level=95)


# What is refused


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: fdr([0, 0], [True, False], 1), "order=index 0 more than once"),
        (lambda: fdr([0, 2], [True, False], 1), "order=index 2"),
        (lambda: fdr([-1], [True, False], 1), "order=index -1"),
        (lambda: fdr([], [True, False], 1), "order"),
        (lambda: fdr([True, False], [True, False], 1), "order=bool"),
        (lambda: fdr([0.0, 1.0], [True, False], 1), "order=float"),
        (lambda: fdr([0], [True, False], 2), "order=1 inputs: expected at least 2"),
        (lambda: fdr([0, 1], [True, False], 0), "budget"),
        (lambda: fdr([0, 1], [True, False], 0.5), "budget"),
        (lambda: fdr([0, 1], [True, False], 1.5), "budget"),
        (lambda: fdr([0, 1], [1, 0], 1), "wrong=int64"),
        (lambda: apfd([0, 1], [1, 0]), "faults=int64"),
        (lambda: apfd([0, 1], [True, False], per="type"), "types=bool"),
        (lambda: apfd([0, 1], [0, -2], per="type"), "types"),
        (lambda: apfd([0, 1], [True, False], per="class"), "per='class'"),
        (lambda: apfd([0, 1], [True, False], variant="theirs"), "variant"),
        (lambda: apfd([0, 1], [True, False], variant="authors-code"), "per='input'"),
        (lambda: apfd(range(4), [0] * 100, per="type", variant="authors-code"), "order=4 inputs"),
        (lambda: max_apfd(10, 11), "m=11"),
        (lambda: max_apfd(10, 0), "m=0"),
        (lambda: fault_types([0.5, 1.0], [0.5, 1.5]), "truth, predicted=float64"),
        (lambda: fault_types([0, 1], [0]), "truth, predicted=shapes"),
        (lambda: type_curve([0, 1], [0, 1], [3]), "order=2 inputs"),
        (lambda: type_curve([0, 1], [0, 1], [-1]), "steps"),
        (lambda: type_curve([0, 1], [0, 1], [0.5]), "steps"),
        (lambda: expected_type_curve([0, 1], [3]), "steps=3"),
        (lambda: budgets(2, share=0.2), "share"),
        (lambda: budgets(2, share=1.2), "share"),
        (lambda: budgets(2, steps=0), "steps"),
        (lambda: rauc([0, 1], [0, 1], share=1), "classes=None"),
        (lambda: rauc([0, 1, 2], [0, 1, 2], share=1, classes=2), "classes=2"),
        (lambda: rauc([0, 1], [0, 1], share=1, normalize="best"), "normalize"),
        (lambda: rauc([0], [0, 1], share=1, classes=2), "order=1 inputs"),
    ],
)
def test_bad_arguments_of_metrics_are_refused(call, argument):
    with pytest.raises(BadInput, match=f"^{argument}"):
        call()
