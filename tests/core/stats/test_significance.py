"""p-values of samples: against statsmodels, scipy and full enumeration; laws; degenerate samples."""

import math
from itertools import combinations, product

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.stats import glm, mann_whitney, paired_t, significance, welch, wilcoxon

INDEPENDENT = [glm, welch, mann_whitney]
PAIRED = [paired_t, wilcoxon]
PARAMETRIC = [glm, welch, paired_t]


def metrics(least=2, most=12):
    """Metrics with three digits: ties are common, spreads far above rounding."""
    return st.lists(st.integers(0, 1000).map(lambda k: k / 1000), min_size=least, max_size=most).map(np.array)


def varied(*samples):
    for sample in samples:
        assume(np.ptp(sample) > 0)


pairs = st.integers(2, 9).flatmap(lambda n: st.tuples(metrics(n, n), metrics(n, n)))


@settings(deadline=None, max_examples=80)
@given(metrics(1), metrics(2))
def test_glm_is_the_statsmodels_gaussian_glm(a, b):
    assume(np.ptp(a) + np.ptp(b) > 0)
    group = sm.add_constant(np.repeat([0.0, 1.0], [len(a), len(b)]), has_constant="add")
    expected = sm.GLM(np.concatenate([a, b]), group, family=sm.families.Gaussian()).fit().pvalues[1]
    assert glm(a, b) == pytest.approx(expected, rel=1e-6, abs=1e-12)


@settings(deadline=None)
@given(metrics(), metrics())
def test_welch_is_scipys(a, b):
    varied(a, b)
    assert welch(a, b) == pytest.approx(reference.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-8)


def rank_sums(a, b):
    """Rank sum of ``a`` among both, and those of all choices of as many values."""
    ranks = reference.rankdata(np.concatenate([a, b]))
    return ranks[: len(a)].sum(), np.array([sum(choice) for choice in combinations(ranks, len(a))])


@pytest.mark.parametrize("digits", [0, 1, 3])
@settings(deadline=None, max_examples=60)
@given(a=metrics(1, 6), b=metrics(1, 6))
def test_mann_whitney_is_the_enumeration_of_all_choices_also_with_ties(digits, a, b):
    a, b = np.round(a, digits), np.round(b, digits)
    observed, sums = rank_sums(a, b)
    expected = min(1, 2 * min((sums <= observed + 1e-9).mean(), (sums >= observed - 1e-9).mean()))
    assert mann_whitney(a, b) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (3, 3), (5, 20), (20, 20), (20, 100), (60, 60)])
@pytest.mark.parametrize("shift", [0.0, 0.5, 5.0])
def test_mann_whitney_without_ties_is_scipys_exact_test(n1, n2, shift):
    rng = np.random.default_rng(n1 + n2)
    a, b = rng.normal(shift, 1, n1), rng.normal(0, 1, n2)
    expected = reference.mannwhitneyu(a, b, method="exact").pvalue
    assert mann_whitney(a, b) == pytest.approx(expected, rel=1e-9)
    assert mann_whitney(b, a) == pytest.approx(expected, rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(metrics(10, 30), metrics(10, 60), st.integers(1, 3))
def test_mann_whitney_of_larger_samples_has_the_laws_of_ranks(a, b, digits):
    a, b = np.round(a, digits), np.round(b, digits)
    p = mann_whitney(a, b)
    assert 0 < p <= 1
    assert mann_whitney(b, a) == pytest.approx(p, rel=1e-9)
    assert mann_whitney(-a, -b) == pytest.approx(p, rel=1e-9)
    assert mann_whitney(a[::-1], b) == p
    assert mann_whitney(np.exp(a), np.exp(b)) == pytest.approx(p, rel=1e-9)


def test_mann_whitney_of_two_levels_is_twice_a_tail_of_fishers_table():
    a, b = np.repeat([0.9, 0.8], [15, 5]), np.repeat([0.9, 0.8], [40, 60])
    tail = reference.hypergeom(120, 55, 20).sf(14)
    assert mann_whitney(a, b) == pytest.approx(2 * tail, rel=1e-10)


@pytest.mark.parametrize("limit", ["MAX_RANK_WORK", "MAX_CHOICES"])
def test_mann_whitney_beyond_a_limit_is_scipys_normal_one_and_close(monkeypatch, limit):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.2, 1, 60).round(1), rng.normal(0, 1, 80).round(1)
    exact = mann_whitney(a, b)
    monkeypatch.setattr(significance, limit, 10)
    expected = reference.mannwhitneyu(a, b, method="asymptotic").pvalue
    assert mann_whitney(a, b) == pytest.approx(expected, rel=1e-12)
    assert exact == pytest.approx(expected, rel=0.05)
    assert exact != expected


def test_mann_whitney_of_very_many_values_is_finite():
    a, b = np.repeat([0.0, 1.0], [300, 300]), np.repeat([0.0, 1.0], [300, 301])
    assert 0.9 < mann_whitney(a, b) <= 1  # two levels are little work but too many choices to count


@settings(deadline=None)
@given(pairs)
def test_paired_t_is_scipys(samples):
    a, b = samples
    assume(np.ptp(a - b) > 1e-9)
    assert paired_t(a, b) == pytest.approx(reference.ttest_rel(a, b).pvalue, rel=1e-6)


@settings(deadline=None, max_examples=60)
@given(pairs)
def test_wilcoxon_is_the_enumeration_of_all_signs_also_with_ties_and_zeros(samples):
    a, b = (np.round(s, 2) for s in samples)
    differences = np.round(a - b, 6)
    differences = differences[differences != 0]
    assume(differences.size > 0)
    ranks = reference.rankdata(np.abs(differences))
    observed = abs((np.sign(differences) * ranks).sum())
    sums = np.abs(np.array(list(product([-1, 1], repeat=ranks.size))) @ ranks)
    assert wilcoxon(a, b) == pytest.approx((sums >= observed - 1e-9).mean(), rel=1e-9)


@pytest.mark.parametrize("n", [5, 20, 45, 100])
def test_wilcoxon_without_ties_is_scipys_exact_test(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, n)
    assert wilcoxon(a, b) == pytest.approx(reference.wilcoxon(a, b, method="exact").pvalue, rel=1e-9)


def test_wilcoxon_of_very_many_pairs_is_close_to_scipys_normal_one():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.05, 1, 2000), rng.normal(0, 1, 2000)
    expected = reference.wilcoxon(a, b, method="approx", correction=True).pvalue
    assert wilcoxon(a, b) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("test", [*INDEPENDENT, *PAIRED])
@settings(deadline=None, max_examples=40)
@given(samples=pairs, scale=st.sampled_from([1e-200, 1e-6, 3.0, 1e200]), shift=st.sampled_from([-2.0, 0.25, 10.0]))
def test_laws_of_every_test(test, samples, scale, shift):
    a, b = samples
    p = test(a, b)
    assert 0 <= p <= 1
    assert test(b, a) == pytest.approx(p, rel=1e-9)
    assert test(-a, -b) == pytest.approx(p, rel=1e-9)
    assert test(a * scale, b * scale) == pytest.approx(p, rel=1e-6, abs=1e-12)
    assert test(a + shift, b + shift) == pytest.approx(p, rel=1e-6, abs=1e-12)
    order = np.random.default_rng(0).permutation(len(a))
    assert test(a[order], b[order]) == pytest.approx(p, rel=1e-9)


@pytest.mark.parametrize("test", INDEPENDENT)
@settings(deadline=None, max_examples=30)
@given(samples=pairs)
def test_independent_samples_have_no_order(test, samples):
    a, b = samples
    assert test(a, b[::-1]) == pytest.approx(test(a, b), rel=1e-9)


@pytest.mark.parametrize("test", PARAMETRIC)
@settings(deadline=None, max_examples=30)
@given(samples=pairs)
def test_a_larger_difference_has_a_smaller_p(test, samples):
    a, b = samples
    varied(a, b)
    assume(np.ptp(a - b) > 1e-9)
    farther = [test(a + max(0.0, b.mean() - a.mean()) + step, b) for step in (0.1, 0.2, 0.4)]
    assert farther == sorted(farther, reverse=True)


@pytest.mark.parametrize("test", [*INDEPENDENT, *PAIRED])
def test_equal_constants_are_no_difference(test):
    assert test([0.7] * 4, [0.7] * 4) == 1.0
    assert test([0.0] * 4, [0.0] * 4) == 1.0
    assert test([0.3] * 4, [0.1 + 0.2] * 4) == 1.0  # they differ in the last bit only
    assert test([0.3] * 4, [0.3, 0.3 + 1e-14, 0.3 + 1e-14, 0.3 + 1e-14]) == 1.0


@pytest.mark.parametrize("test", PARAMETRIC)
def test_different_constants_are_certain(test):
    assert test([0.7] * 4, [0.6] * 4) == 0.0
    assert test([0.1 + 0.2, 0.3, 0.3], [0.2, 0.2, 0.2]) == 0.0  # a spread of one bit is no spread
    assert test([1e9] * 3, [1e9 + 1] * 3) == 0.0


def test_rank_tests_of_different_constants_stay_exact():
    assert wilcoxon([0.7] * 4, [0.6] * 4) == pytest.approx(2 / 2**4)
    assert mann_whitney([0.7] * 3, [0.6] * 3) == pytest.approx(0.1)
    assert mann_whitney([0.7] * 4, [0.6] * 4) == pytest.approx(2 / math.comb(8, 4))


def test_a_constant_difference_is_certain_for_the_paired_t_test():
    assert paired_t([0.7, 0.8, 0.9], [0.6, 0.7, 0.8]) == 0.0


def test_glm_compares_one_with_two_and_twenty_with_a_hundred():
    assert glm([0.9], [0.9, 0.9]) == 1.0
    assert 0 < glm([0.9], [0.8, 0.7]) < 1
    rng = np.random.default_rng(0)
    assert glm(rng.normal(size=20), rng.normal(size=100)) > 0.001


@pytest.mark.parametrize("test", [*INDEPENDENT, *PAIRED])
@pytest.mark.parametrize("bad", [[], [np.nan, 1.0], [np.inf, 1.0], [[1.0, 2.0]]])
def test_bad_samples_get_a_sentence(test, bad):
    with pytest.raises(BadInput):
        test([0.5, 0.6], bad)
    with pytest.raises(BadInput):
        test(bad, [0.5, 0.6])


def test_too_few_values_get_a_sentence():
    for test in (glm, paired_t, welch):
        with pytest.raises(BadInput):
            test([0.5], [0.6])
    for test in PAIRED:
        with pytest.raises(BadInput, match="equally many"):
            test([0.5, 0.6], [0.5])


def with_effect(n1, n2, d):
    """Two samples whose Cohen's d is exactly ``d``."""
    a, b = np.linspace(-1, 1, n1), np.linspace(-1, 1, n2)
    pooled = np.sqrt(((a**2).sum() + (b**2).sum()) / (n1 + n2 - 2))
    return a + d * pooled, b


@pytest.mark.parametrize(("n1", "n2", "d"), [(20, 20, 0.62), (10, 10, 0.88), (20, 100, 0.48)])
def test_the_effect_from_which_glm_rejects_is_that_of_the_spec(n1, n2, d):
    assert glm(*with_effect(n1, n2, d + 0.005)) < 0.05
    assert glm(*with_effect(n1, n2, d - 0.005)) > 0.05


def test_the_effect_bar_of_one_half_binds_from_31_instances_only():
    assert glm(*with_effect(30, 30, 0.5)) > 0.05
    assert glm(*with_effect(31, 31, 0.5)) < 0.05


@pytest.mark.parametrize(("n1", "n2", "level"), [(3, 3, 0.1216), (5, 20, 0.0622), (20, 20, 0.0574)])
def test_glm_rejects_equal_normal_samples_as_often_as_the_docstring_says(n1, n2, level):
    rng, runs = np.random.default_rng(0), 40_000
    a, b = rng.normal(size=(runs, n1)), rng.normal(size=(runs, n2))
    p = np.array([glm(a[i], b[i]) for i in range(500)])
    s2 = (a.var(axis=1) * n1 + b.var(axis=1) * n2) / (n1 + n2 - 2)
    z = (a.mean(axis=1) - b.mean(axis=1)) / np.sqrt(s2 * (1 / n1 + 1 / n2))
    np.testing.assert_array_equal(p < 0.05, np.abs(z[:500]) > reference.norm.isf(0.025))
    assert 2 * reference.t.sf(reference.norm.isf(0.025), n1 + n2 - 2) == pytest.approx(level, abs=1e-4)
    assert (np.abs(z) > reference.norm.isf(0.025)).mean() == pytest.approx(level, abs=4 * np.sqrt(level / runs))
