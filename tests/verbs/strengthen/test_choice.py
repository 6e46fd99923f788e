"""The greedy choice: its statistic is McNemar's, its gains are those of a slow loop, its predictions come true."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from mutiny.core.stats.notice import mcnemar_worse
from mutiny.verbs.strengthen.choice import NoticeOdds, choose

CRITICAL = float(norm.ppf(0.95))


def odds_of(tests, broken, repaired, weights=None, step=1.0):
    """Odds from counts on the test set ``(faults, 2)`` and probabilities on candidates ``(faults, candidates)``."""
    tests, broken, repaired = np.asarray(tests, float), np.asarray(broken, float), np.asarray(repaired, float)
    fault, candidate = np.nonzero(broken + repaired)
    return NoticeOdds(
        tests[:, 0] - tests[:, 1],
        tests.sum(axis=1),
        np.ones(len(tests)) / len(tests) if weights is None else np.asarray(weights, float),
        fault,
        candidate,
        (broken - repaired)[fault, candidate],
        (broken + repaired)[fault, candidate],
        step,
        CRITICAL,
    )


def value_of(tests, broken, repaired, weights, chosen):
    """The objective, fault by fault."""
    total = 0.0
    for fault, weight in enumerate(weights):
        more, less = tests[fault]
        more += sum(broken[fault][at] for at in chosen)
        less += sum(repaired[fault][at] for at in chosen)
        z = (more - less - 1) / max(more + less, 1.0) ** 0.5
        total += weight * norm.cdf(z - CRITICAL)
    return total


def random_case(seed, faults=3, candidates=6):
    rng = np.random.default_rng(seed)
    changed = rng.random((faults, candidates)) < 0.6
    belief = rng.random((faults, candidates))
    broken, repaired = changed * belief, changed * (1 - belief) * rng.random((faults, candidates))
    return rng.integers(0, 4, (faults, 2)), broken, repaired, rng.random(faults)


def test_the_statistic_and_the_exact_test_agree_except_at_the_border():
    counts = np.array([(broken, repaired) for broken in range(40) for repaired in range(40)], float)
    odds = odds_of(counts, np.zeros((len(counts), 1)), np.zeros((len(counts), 1)))
    noticed = odds.statistic(odds.mean, odds.square) >= CRITICAL
    exact = mcnemar_worse(counts[:, 0], counts[:, 1])
    clear = (exact < 0.045) | (exact > 0.055)
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(noticed[clear], exact[clear] < 0.05)


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_gains_are_differences_of_the_objective(seed):
    tests, broken, repaired, weights = random_case(seed)
    odds = odds_of(tests, broken, repaired, weights)
    before = value_of(tests, broken, repaired, weights, [])
    expected = [value_of(tests, broken, repaired, weights, [at]) - before for at in range(6)]
    np.testing.assert_allclose(odds.gains(odds.mean, odds.square, 6), expected, atol=1e-12)
    mean, square = odds.after(np.array([1, 4]))
    first = value_of(tests, broken, repaired, weights, [1, 4])
    again = value_of(tests, broken, repaired, weights, [1, 4, 2]) - first
    np.testing.assert_allclose(odds.gains(mean, square, 6)[2], again, atol=1e-12)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6))
def test_each_step_takes_the_best_and_no_step_harms(seed, budget):
    tests, broken, repaired, weights = random_case(seed)
    odds = odds_of(tests, broken, repaired, weights)
    taken = choose(odds, np.arange(6), budget).tolist()
    assert len(set(taken)) == len(taken) <= budget
    values = [value_of(tests, broken, repaired, weights, taken[:size]) for size in range(len(taken) + 1)]
    assert all(after > before for before, after in pairwise(values))
    for size in range(len(taken)):
        others = [
            value_of(tests, broken, repaired, weights, [*taken[:size], at]) for at in range(6) if at not in taken[:size]
        ]
        assert values[size + 1] >= max(others) - 1e-8
    assert choose(odds, np.arange(6), 6).tolist()[: len(taken)] == taken


def test_equal_candidates_are_taken_in_the_order_given():
    odds = odds_of([[0, 0]], np.full((1, 4), 0.9), np.full((1, 4), 0.05))
    assert choose(odds, np.array([2, 0, 3, 1]), 3).tolist() == [2, 0, 3]


def test_nothing_is_chosen_where_nothing_changes():
    odds = odds_of([[2, 0]], np.zeros((1, 4)), np.zeros((1, 4)))
    assert choose(odds, np.arange(4), 4).tolist() == []


def test_a_prediction_is_the_share_of_labelings_that_notice():
    rng = np.random.default_rng(3)
    tests = np.array([[2, 1], [0, 0], [6, 0], [3, 3]])
    broken = rng.uniform(0.4, 0.95, (4, 12)) * (rng.random((4, 12)) < 0.8)
    repaired = np.where(broken > 0, (1 - broken) * 0.5, 0)
    odds, chosen = odds_of(tests, broken, repaired), np.arange(12)
    noticed = mcnemar_worse(tests[:, 0], tests[:, 1]) < 0.05
    drawn = rng.random((20000, 4, 12))
    worse, better = (drawn < broken).sum(2) + tests[:, 0], (drawn > 1 - repaired).sum(2) + tests[:, 1]
    shares = (mcnemar_worse(worse, better) < 0.05).mean(axis=0)
    np.testing.assert_allclose(odds.predicted(chosen, noticed), shares, atol=0.15)
    np.testing.assert_array_equal(odds.predicted(np.zeros(0, int), noticed), noticed)


@settings(deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_a_fault_is_out_of_reach_if_no_choice_reaches_it(seed, budget):
    """With labels that are certain, the first inputs in order of their change are the best ones."""
    rng = np.random.default_rng(seed)
    broken = (rng.random((1, 6)) < 0.6).astype(float)
    tests = rng.integers(0, 5, (1, 2))
    odds = odds_of(tests, broken, np.zeros((1, 6)))
    sets = [chosen for size in range(budget + 1) for chosen in combinations(range(6), size)]
    statistic = [odds.statistic(*odds.after(np.array(chosen, int)))[0] for chosen in sets]
    assert odds.reachable(0, budget) == (max(statistic) >= CRITICAL)
