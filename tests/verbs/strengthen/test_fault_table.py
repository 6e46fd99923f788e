"""A fault table: any part of the inputs notices what a slow loop over its inputs says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

import mutiny
from mutiny.core.stats.notice import notice_rate
from verbs.strengthen.tables import random_changes, table_of


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_any_part_notices_what_a_loop_finds(seed):
    rng = np.random.default_rng(seed)
    changes, chosen = random_changes(rng), np.flatnonzero(rng.random(40) < 0.6)
    costs = rng.uniform(0.5, 8, 6)
    table = table_of(changes, costs)
    expected = []
    for row in changes:
        broken, repaired = int((row[chosen] > 0).sum()), int((row[chosen] < 0).sum())
        total = broken + repaired
        expected.append(total > 0 and binomtest(broken, total, alternative="greater").pvalue < 0.05)
    noticed = table.noticed(chosen)
    assert noticed.tolist() == expected
    assert table.rate(noticed) == pytest.approx(notice_rate(costs, noticed))


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_more_broken_answers_never_hide_a_fault(seed):
    rng = np.random.default_rng(seed)
    changes = random_changes(rng)
    table = table_of(changes)
    some = np.flatnonzero(rng.random(40) < 0.4)
    harmless = np.flatnonzero((changes >= 0).all(axis=0))
    before, after = table.noticed(some), table.noticed(np.union1d(some, harmless))
    assert (after >= before).all()


def test_losses_are_compared_by_a_t_test_with_a_tolerance():
    rng = np.random.default_rng(0)
    changes = rng.normal(0.1, 0.3, (5, 30)) * (rng.random((5, 30)) < 0.9)
    table, chosen = table_of(changes, [12.0] * 5, task=mutiny.Regression(0.1), metric=4.0), np.arange(5, 25)
    single = np.asarray(changes, np.float32)
    expected = [ttest_1samp(row[chosen], 0.04, alternative="greater").pvalue < 0.05 for row in single]
    assert table.noticed(chosen).tolist() == expected
    assert True in expected
    assert False in expected


def test_intervals_are_over_originals_or_over_seeds():
    assert table_of(np.ones((3, 4)), originals=[0, 1, 0]).units.tolist() == [0, 1, 0]
    assert table_of(np.ones((3, 4))).units.tolist() == [0, 1, 2]
