"""A smaller test set keeps every kill, and is not much larger than the smallest there is."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mutiny
import toys
from mutiny.verbs.strengthen.kill_table import KillTable, scores
from mutiny.verbs.strengthen.subset import smallest_subset
from verbs.strengthen.tables import COARSE, random_table, table_of


def smallest(table):
    """By trying all."""
    wanted = table.killed()
    for size in range(len(table) + 1):
        for part in combinations(range(len(table)), size):
            if wanted <= table.killed(np.array(part, np.int64)):
                return size
    raise AssertionError("the whole keeps all")


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), originals=st.sampled_from([1, 4]))
def test_it_is_near_the_smallest_and_keeps_all(seed, originals):
    table = random_table(np.random.default_rng(seed), originals, inputs=8, rounds=2 if originals > 1 else 5)
    subset, best = smallest_subset(table), smallest(table)
    assert set(subset.kept) == table.killed()
    assert table.killed() <= table.killed(subset.indices)
    assert len(set(subset.indices.tolist())) == len(subset)
    assert best <= len(subset) <= max(best + 2, 2 * best)


def test_one_input_that_every_instance_fails_is_enough():
    right, mutant = np.ones((5, 30), bool), np.ones((1, 5, 30), bool)
    mutant[..., 17] = False
    subset = smallest_subset(table_of(right, [mutant]))
    assert subset.indices.tolist() == [17]
    assert subset.kept == (("WI", 0.0),)


def test_an_input_for_each_mutant():
    right, mutants = np.ones((5, 30), bool), np.ones((3, 1, 5, 30), bool)
    for number in range(3):
        mutants[number, ..., 4 + number] = False
    assert sorted(smallest_subset(table_of(right, mutants)).indices.tolist()) == [4, 5, 6]


def test_nothing_is_needed_where_nothing_is_killed():
    right = np.ones((3, 6), bool)
    subset = smallest_subset(table_of(right, [np.ones((2, 3, 6), bool)]))
    assert len(subset) == 0
    assert subset.kept == subset.more == ()


def test_noise_is_left_out_and_kills_more():
    """Inputs on which originals disagree hide a mutant that few inputs show."""
    rng = np.random.default_rng(0)
    right = np.concatenate([rng.random((6, 40)) < 0.5, np.ones((6, 3), bool)], axis=1)
    hidden, plain = np.repeat(right[None], 2, axis=0), np.repeat(right[None], 2, axis=0)
    hidden[:, :, 40:] = rng.random((2, 6, 3)) < 0.6
    plain[:] = False
    table = table_of(right, [plain, hidden])
    subset = smallest_subset(table)
    assert table.killed() == {("WI", 0.0)}
    assert len(subset) == 1


@pytest.mark.parametrize("originals", [1, 3])
def test_no_operators_score_falls(originals):
    result = mutiny.assess(toys.blob_subject(originals), "WI(ratio=0.3),NEB", search=COARSE, exact=True)
    table = KillTable.of(result)
    subset = smallest_subset(table, 0, result.operators)
    before, after = (scores(result.operators, killed) for killed in (table.killed(), table.killed(subset.indices)))
    assert all(after[label] >= before[label] for label in before)
    assert subset.score_of_all == pytest.approx(result.score.value)
    assert subset.score >= subset.score_of_all
    assert 0 < len(subset) < 60
    again = smallest_subset(table, 0, result.operators)
    assert again.indices.tolist() == subset.indices.tolist()


def test_a_large_table_takes_seconds():
    rng = np.random.default_rng(0)
    right = rng.random((20, 3000)) < 0.97
    chance = rng.beta(0.3, 20, 3000)
    mutants = [right[None] & (rng.random((1, 20, 3000)) >= chance * rng.random()) for _ in range(10)]
    table = table_of(right, mutants, ["WI", "NI"] * 5)
    subset = smallest_subset(table)
    assert len(subset) < 30
    assert set(subset.kept) <= table.killed(subset.indices)
