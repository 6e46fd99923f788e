"""The test of a group against others within strata agrees with scipy, with simulation, and keeps its level."""

import numpy as np
import pytest
from scipy import stats

from mutiny.core.errors import BadInput
from mutiny.core.stats import strata as module
from mutiny.core.stats import stratified_fisher


@pytest.mark.parametrize(("seen", "size", "others", "rest"), [(2, 6, 9, 12), (0, 5, 5, 9), (4, 4, 3, 8), (0, 3, 0, 9)])
def test_one_stratum_is_fishers_test(seen, size, others, rest):
    p, expected = stratified_fisher([seen], [size], [others], [rest])
    table = [[seen, size - seen], [others, rest - others]]
    assert p == pytest.approx(stats.fisher_exact(table, alternative="less").pvalue)
    assert expected == pytest.approx(size * (seen + others) / (size + rest))


def test_several_strata_agree_with_random_choices_of_the_group():
    seen, size, others, rest = [1, 2, 5, 0], [6, 7, 6, 0], [8, 9, 12, 3], [14, 13, 12, 3]
    p, expected = stratified_fisher(seen, size, others, rest)
    rng, sums = np.random.default_rng(0), []
    for _ in range(20_000):
        total = 0
        for k, n, other, of in zip(seen, size, others, rest, strict=True):
            faults = np.arange(n + of) < k + other
            total += rng.permutation(faults)[:n].sum()
        sums.append(total)
    assert p == pytest.approx(np.mean(np.array(sums) <= sum(seen)), abs=0.005)
    assert expected == pytest.approx(np.mean(sums), abs=0.05)


def test_groups_that_do_not_differ_are_rarely_significant():
    rng, rates = np.random.default_rng(1), np.array([0.5, 0.6, 0.95, 1.0])
    size, rest = np.array([4, 6, 5, 3]), np.array([10, 12, 9, 7])
    found = [
        stratified_fisher(rng.binomial(size, rates), size, rng.binomial(rest, rates), rest)[0] < 0.05
        for _ in range(1500)
    ]
    assert np.mean(found) <= 0.05


def test_a_group_without_others_or_without_members_cannot_be_compared():
    assert stratified_fisher([1], [3], [0], [0])[0] == 1.0
    assert stratified_fisher([0], [0], [2], [3]) == (1.0, 0.0)
    assert stratified_fisher([], [], [], []) == (1.0, 0.0)


def test_large_groups_have_nearly_the_exact_p_value(monkeypatch):
    counts = [520, 900], [1000, 1000], [1100, 1850], [2000, 2000]
    exact = stratified_fisher(*counts)
    monkeypatch.setattr(module, "LARGEST_EXACT", 10)
    assert stratified_fisher(*counts) == pytest.approx(exact, rel=0.05)
    assert stratified_fisher([100], [100], [50], [50]) == (1.0, 100.0)


def test_more_seen_than_there_are_is_refused():
    with pytest.raises(BadInput, match="at most the sizes"):
        stratified_fisher([4], [3], [0], [0])
