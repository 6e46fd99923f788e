"""Exact tests on counts: against big integers, enumeration and scipy; and a simulation of what they are for."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats import exact, fisher, sign_flip, sign_flip_counts


def fisher_in_whole_numbers(a, n, b, m):
    c = a + b
    tables = [math.comb(n, k) * math.comb(m, c - k) for k in range(max(0, c - m), min(n, c) + 1)]
    observed = math.comb(n, a) * math.comb(m, b)
    return float(Fraction(sum(t for t in tables if t <= observed), sum(tables)))


def sign_flip_in_whole_numbers(differences):
    """Number of sign patterns for each sum, as the digits of one big integer."""
    steps, total = [abs(int(d)) for d in differences if d], abs(int(sum(differences)))
    if total == 0:
        return 1.0
    digit, patterns = len(steps) + 1, 1
    for step in steps:
        patterns += patterns << (digit * step)
    patterns >>= digit * ((sum(steps) + total) // 2)
    tail = 0
    while patterns:
        tail, patterns = tail + (patterns & ((1 << digit) - 1)), patterns >> digit
    return float(Fraction(2 * tail, 2 ** len(steps)))


def table(n, m):
    return st.tuples(st.integers(0, n), st.just(n), st.integers(0, m), st.just(m))


tables = st.tuples(st.integers(0, 60), st.integers(0, 60)).flatmap(lambda sizes: table(*sizes))


@settings(deadline=None)
@given(tables)
def test_fisher_is_the_sum_over_all_tables(counts):
    p = fisher(*counts)
    assert p == pytest.approx(fisher_in_whole_numbers(*counts), rel=1e-10)
    assert 0 <= p <= 1


@settings(deadline=None)
@given(tables)
def test_fisher_is_symmetric(counts):
    a, n, b, m = counts
    assert fisher(b, m, a, n) == pytest.approx(fisher(a, n, b, m), rel=1e-10)
    assert fisher(n - a, n, m - b, m) == pytest.approx(fisher(a, n, b, m), rel=1e-10)


def test_fisher_at_twenty_times_sixty_thousand_is_twice_the_tail():
    n = 1_200_000
    for a, b in [(1_190_000, 1_189_700), (600_000, 600_500), (1_199_999, 1_200_000), (700_123, 700_999)]:
        tail = reference.hypergeom.cdf(min(a, b), 2 * n, a + b, n)  # equal sizes: both tails are mirror images
        assert fisher(a, n, b, n) == pytest.approx(min(1.0, 2 * tail), rel=1e-7)


def test_fisher_of_a_small_and_a_large_group_is_right_far_out_in_the_tail():
    assert fisher(16233, 20000, 2083, 3000) == pytest.approx(4.454000936626187e-46, rel=1e-9)  # in whole numbers
    assert fisher(600_000, 1_200_000, 700_000, 1_200_000) == 0.0  # about 1e-3600: no float is so small


def test_fisher_of_nothing_is_one():
    assert fisher(0, 0, 3, 5) == fisher(5, 5, 7, 7) == fisher(0, 5, 0, 7) == fisher(0, 0, 0, 0) == 1.0


@pytest.mark.parametrize("counts", [(-1, 5, 0, 5), (6, 5, 0, 5), (0, 5, 6, 5), (0, -1, 0, 5)])
def test_fisher_refuses(counts):
    with pytest.raises(BadInput, match="0 <= correct <= n"):
        fisher(*counts)


differences_ = st.lists(st.integers(-20, 20), max_size=60).map(lambda d: np.array(d, dtype=np.int64))


@settings(deadline=None, max_examples=100)
@given(differences_)
def test_sign_flip_is_the_count_of_sign_patterns(differences):
    p = sign_flip(differences)
    assert p == pytest.approx(sign_flip_in_whole_numbers(differences), rel=1e-10)
    assert 0 <= p <= 1


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_sign_flip_is_the_enumeration_of_all_signs(differences):
    sums = np.abs(np.array(list(product([-1, 1], repeat=len(differences)))) @ np.abs(differences))
    assert sign_flip(differences) == pytest.approx((sums >= abs(sum(differences))).mean(), rel=1e-10)


@settings(deadline=None)
@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(0, 500))
def test_with_one_repetition_it_is_mcnemars_exact_test(better, worse, same):
    expected = reference.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert sign_flip(np.repeat([1, -1, 0], [better, worse, same])) == pytest.approx(
        expected,
        rel=1e-9,
        abs=1e-250,  # scipy's binomtest says 0 below some 1e-270
    )


@settings(deadline=None)
@given(differences_, st.integers(1, 7), st.randoms())
def test_sign_flip_ignores_order_zeros_unit_and_side(differences, unit, random):
    p = sign_flip(differences)
    shuffled = list(differences)
    random.shuffle(shuffled)
    assert sign_flip(np.array(shuffled, dtype=np.int64)) == p
    assert sign_flip(-differences) == p
    assert sign_flip(np.concatenate([differences, np.zeros(9, dtype=np.int64)])) == p
    assert sign_flip(differences * unit) == p


@settings(deadline=None)
@given(st.lists(st.integers(1, 20), min_size=2, max_size=40))
def test_the_more_signs_agree_the_smaller_p(magnitudes):
    signs = np.ones(len(magnitudes), dtype=np.int64)
    ps = []
    for i in range(len(magnitudes)):
        if (signs * magnitudes).sum() < 0:
            break
        ps.append(sign_flip(signs * magnitudes))
        signs[i] = -1
    assert all(a <= b * (1 + 1e-10) for a, b in pairwise(ps))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.5, 0.53, 0.6, 0.9])
def test_thousands_of_inputs_and_twenty_repetitions_agree_with_whole_numbers(seed, share):
    rng = np.random.default_rng(seed)
    differences = rng.integers(1, 21, 500) * np.where(rng.random(500) < share, 1, -1)
    assert sign_flip(differences) == pytest.approx(sign_flip_in_whole_numbers(differences), rel=1e-9)


def test_sign_flip_of_sixty_thousand_inputs_is_near_the_normal_approximation():
    rng = np.random.default_rng(0)
    differences = rng.integers(-20, 21, 60_000)
    z = (abs(differences.sum()) - 1) / np.sqrt((differences.astype(float) ** 2).sum())
    assert sign_flip(differences) == pytest.approx(2 * reference.norm.sf(z), rel=1e-3)


def test_beyond_the_limit_the_normal_approximation_is_close(monkeypatch):
    differences = np.repeat([1, -1, 2, -2], [120, 100, 60, 50])
    right = sign_flip(differences)
    monkeypatch.setattr(exact, "MAX_WORK", 0)
    near = sign_flip(differences)
    assert near != right
    assert near == pytest.approx(right, rel=0.005)  # without the correction for continuity it is 4 % off


def test_huge_but_few_magnitudes_do_not_fill_the_memory():
    assert 0 < sign_flip([10**12, 10**12 + 1, -3]) < 1
    with pytest.raises(BadInput):
        sign_flip([2**60, 1])


def test_extremes_of_sign_flip():
    assert sign_flip([]) == sign_flip([0, 0]) == sign_flip([1, -1]) == sign_flip([5]) == 1.0
    assert sign_flip([3] * 10) == 2 / 2**10
    assert sign_flip([1] * 5000) == 0.0  # 2**-4999: no float is so small
    assert sign_flip([19, -20]) == 1.0


@settings(deadline=None)
@given(differences_)
def test_histograms_give_what_the_inputs_give(differences):
    values, counts = np.unique(differences, return_counts=True)
    mapping = dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert sign_flip(differences) == sign_flip_counts(values, counts) == sign_flip_counts(mapping)
    doubled = sign_flip_counts(np.concatenate([values, values, [7]]), np.concatenate([counts, counts, [0]]))
    assert doubled == pytest.approx(sign_flip(np.concatenate([differences, differences])), rel=1e-12)


@pytest.mark.parametrize("arguments", [([1, 2], [1]), ([1, 2], None), ([1], [-1]), ([0.5], [1]), ([[1]], [[1]])])
def test_bad_histograms_get_a_sentence(arguments):
    with pytest.raises(BadInput):
        sign_flip_counts(*arguments)


def test_pooled_mcnemar_raises_false_alarms_where_sign_flip_does_not():
    """No difference between original and mutant; but inputs that flip do so in most repetitions, in one direction."""
    rng, runs, n, repetitions = np.random.default_rng(0), 500, 400, 10
    side = rng.choice([-1, 0, 1], size=(runs, n), p=[0.1, 0.8, 0.1])
    d = side * rng.binomial(repetitions, 0.6, size=(runs, n))
    wins, losses = np.maximum(d, 0).sum(axis=1), np.maximum(-d, 0).sum(axis=1)
    pooled = np.minimum(1, 2 * reference.binom.cdf(np.minimum(wins, losses), wins + losses, 0.5))
    ours = np.array([sign_flip(row) for row in d])
    error = 3 * np.sqrt(0.05 * 0.95 / runs)
    assert (pooled < 0.05).mean() > 0.3
    assert (ours < 0.05).mean() <= 0.05 + error
    assert (ours < 0.05).mean() > 0.02  # and it is not merely deaf
