"""A smaller test set: it never notices more than the whole, and loses no more than it may."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mutiny
from mutiny.verbs.strengthen.subset import AIM, allowed_loss, held_out_rates, smallest_subset
from verbs.strengthen.tables import random_changes, table_of

EVERY = np.arange(40)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.02, 0.1]))
def test_a_part_notices_nothing_that_the_whole_misses(seed, tolerance):
    rng = np.random.default_rng(seed)
    first, second = (table_of(random_changes(rng, broken=0.5), rng.uniform(0.5, 8, 6)) for _ in range(2))
    subset = smallest_subset(first, second, tolerance)
    if subset is None:
        assert not first.noticed(EVERY).any()
        return
    for table in (first, second):
        whole, part = table.noticed(EVERY), table.noticed(subset.indices)
        assert not (part & ~whole).any()
        rate = table.rate(whole)
        assert rate - table.rate(part) <= AIM * allowed_loss(rate, tolerance) + 1e-12
    assert np.isin(subset.indices, np.concatenate([first.position, second.position])).all()
    repaired = np.concatenate([table.position[table.change < 0] for table in (first, second)])
    assert np.isin(repaired, subset.indices).all()
    assert (subset.of, subset.rate_of_all) == (40, first.rate(first.noticed(EVERY)))


def test_inputs_that_decide_nothing_are_left_out():
    """Eight inputs break; one suffices for none, five suffice for all; the others never change."""
    changes = np.zeros((3, 40))
    changes[:, 10:18] = 1
    subset = smallest_subset(table_of(changes), table_of(changes), 0.02)
    assert len(subset) == 5
    assert set(subset.indices.tolist()) <= set(range(10, 18))
    assert subset.rate == subset.rate_of_all == 1.0


def test_wrong_answers_that_faults_repair_stay():
    """Without them, a fault that breaks as much as it repairs would look harmful."""
    changes = np.zeros((2, 40))
    changes[0, :12] = 1
    changes[1, 20:26], changes[1, 30:36] = 1, -1
    table = table_of(changes)
    subset = smallest_subset(table, table, 0.0)
    assert set(range(30, 36)) <= set(subset.indices.tolist())
    assert table.noticed(subset.indices).tolist() == [True, False]


def test_tests_that_notice_nothing_have_no_smaller_part():
    table = table_of(np.zeros((2, 40)))
    assert smallest_subset(table, table, 0.02) is None


def test_held_out_rates_are_those_of_the_parts():
    rng = np.random.default_rng(1)
    fit, fresh, held = (table_of(random_changes(rng, 20, broken=0.4), originals=[0, 1] * 10) for _ in range(3))
    subset = smallest_subset(fit, fresh, 0.02)
    rates = held_out_rates(held, subset, 0)
    assert rates.all == held.rate(held.noticed(EVERY))
    assert rates.subset == held.rate(held.noticed(subset.indices))
    assert rates.loss.value == pytest.approx(rates.all - rates.subset)
    assert rates.loss.interval.low <= rates.loss.value <= rates.loss.interval.high
    assert 0 <= rates.random <= rates.all + 0.1
    assert held_out_rates(held, subset, 0) == rates


def test_a_part_for_losses_is_chosen_by_the_size_of_changes():
    rng = np.random.default_rng(2)
    changes = rng.normal(0.2, 0.3, (6, 40)) * np.where(np.arange(40) < 20, 1.0, 0.01)
    table = table_of(changes, [12.0] * 6, task=mutiny.Regression(0.1))
    subset = smallest_subset(table, table, 0.02)
    assert 0 < len(subset) < 40
    assert table.rate(table.noticed(subset.indices)) >= table.rate(table.noticed(EVERY)) - 0.01
