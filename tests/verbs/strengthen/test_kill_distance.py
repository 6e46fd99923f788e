"""What answers are worth if nobody knows the label: expectations over every label that there may be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny import Classification, Regression
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.strengthen.kill_distance import GOALS, BetweenTrainings, OverInputs, even, expected, expected_flips
from mutiny.verbs.strengthen.proposal import choose
from mutiny.verbs.strengthen.subset import distances_of
from verbs.strengthen.tables import random_table, table_of

pytestmark = pytest.mark.rounding

seeds = st.integers(0, 10**6)


def drawn(seed, count=4, inputs=3, classes=3):
    rng = np.random.default_rng(seed)
    belief = rng.dirichlet(np.ones(classes), inputs).astype(np.float32)
    return rng.integers(-1, classes, (count, inputs)), belief


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_shares_and_noise_are_means_over_labels(seed):
    answers, belief = drawn(seed)
    expectation = expected(Classification(3), answers, belief)
    for at in range(3):
        each = [(belief[at, label], (answers[:, at] == label).astype(float)) for label in range(3)]
        share = sum(chance * right for chance, right in each)
        noise = sum(chance * ((right - right.mean()) ** 2).sum() for chance, right in each)
        np.testing.assert_allclose(expectation.shares[at], share, atol=1e-6)
        assert expectation.noise[at] == pytest.approx(noise, abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_flips_are_means_over_labels(seed):
    answers, belief = drawn(seed, 6)
    originals, instances = answers[:2], np.stack([answers[2:4], answers[4:6]])
    flips = expected_flips(Classification(3), originals, instances, belief)
    for at in range(3):
        change = [2 * (originals[:, at] == y).sum() - (instances[..., at] == y).sum() for y in range(3)]
        for name, part in (("mean", change), ("square", np.square(change)), ("lost", np.maximum(change, 0))):
            assert getattr(flips, name)[at] == pytest.approx(float(belief[at] @ part), abs=1e-5)


def test_a_regression_loses_what_separates_it_from_the_mean():
    belief, answers = np.array([[1.0], [2.0]]), np.array([[[1.0], [4.0]], [[1.5], [2.0]]])
    expectation = expected(Regression(0.5), answers, belief)
    np.testing.assert_allclose(expectation.shares, [[0.0, 0.25], [4.0, 0.0]])
    np.testing.assert_allclose(expectation.noise, [2 * 0.125**2, 8.0])
    flips = expected_flips(Regression(0.5), belief[None], answers[:, None], belief)
    assert flips.mean.tolist() == [0.0, 1.0]
    assert np.isfinite(expected(Regression(0.5), np.full((1, 2, 1), np.nan), belief).shares).all()


@settings(max_examples=60, deadline=None)
@given(seed=seeds, weak=st.floats(0.05, 0.9))
def test_distance_from_known_answers_reaches_1_where_the_rule_kills(seed, weak):
    table = random_table(np.random.default_rng(seed), originals=6, inputs=25, weak=weak)
    distances = distances_of(table)
    for at in range(25):
        distances.take(at)
    for row, near in zip(table.rows, distances.reached(), strict=True):
        evidence = table.rule.judge(table.sample(row, np.arange(25), 2), True)
        if abs(near - 1) > 1e-4:
            assert evidence.killed == (near > 1)


@pytest.mark.parametrize("originals", [1, 5])
@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_what_lies_ahead_is_what_is_reached(originals, seed):
    table = random_table(np.random.default_rng(seed), originals, inputs=12, rounds=5)
    distances = distances_of(table)
    assert isinstance(distances, OverInputs if originals == 1 else BetweenTrainings)
    for at in np.random.default_rng(seed).permutation(12).tolist():
        wanted = distances.ahead(np.array([at]))[0]
        distances.take(at)
        np.testing.assert_allclose(distances.reached(), wanted, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, weak=st.floats(0.1, 1.0))
def test_distance_over_inputs_is_near_the_exact_test(seed, weak):
    """Between 0.8 and 1.25 the exact test may go either way."""
    table = random_table(np.random.default_rng(seed), 1, inputs=40, rounds=1, weak=weak)
    distances = distances_of(table)
    for at in range(40):
        distances.take(at)
    for row, near in zip(table.rows, distances.reached(), strict=True):
        evidence = table.rule.judge(table.sample(row, np.arange(40), 1), True)
        if near < 0.8 or near > 1.25:
            assert evidence.killed == (near > 1)


def test_greedy_takes_what_helps_most_then_makes_sure_then_stops():
    right, mutants = np.ones((4, 6), bool), np.ones((2, 1, 4, 6), bool)
    mutants[0, 0, :2, 1] = False  # half of the first mutant's instances fail
    mutants[:, 0, :, 3] = False  # all instances of both
    table = table_of(right, mutants)
    choice = choose(distances_of(table), even(["WI", "WI"]), np.arange(6), 4)
    assert choice.order.tolist() == [3]  # nothing can be surer, and the others tell nothing
    assert choice.reached.shape == (1, 2)
    some = choose(distances_of(table), even(["WI", "WI"]), np.array([0, 1, 2]), 4, GOALS[:1])
    assert some.order.tolist() == [1]
    assert some.reached[0, 1] == 0


def test_among_equals_the_first_is_taken_and_the_budget_holds():
    right, mutant = np.ones((4, 9), bool), np.ones((1, 4, 9), bool)
    for at in range(9):
        mutant[0, at % 4, at] = False
    table = table_of(right, [mutant])
    order = np.array([8, 4, 0, 5, 1, 2, 3, 6, 7])
    choice = choose(distances_of(table), even(["WI"]), order, 3)
    assert len(choice.order) == 3
    assert choice.order[0] == 8


def test_a_paired_rule_needs_the_effect_only():
    right = np.ones((20, 1))
    instances = np.ones((1, 20, 1))
    table = [table_of(right, [instances], rule=KillRule(test)) for test in ("glm", "wilcoxon")]
    assert distances_of(table[0]).needed[0] == pytest.approx(1.959964 * (2 / 20) ** 0.5)
    assert distances_of(table[1]).needed[0] == 0.5


@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_a_smaller_budget_is_a_beginning_of_a_larger_one(seed):
    table = random_table(np.random.default_rng(seed), originals=4, inputs=120, weak=0.2)
    weights = even([row.label for row in table.rows])
    few, many = (choose(distances_of(table), weights, np.arange(120), budget) for budget in (30, 90))
    np.testing.assert_array_equal(many.order[: len(few.order)], few.order)
    assert len(set(many.order.tolist())) == len(many.order)


@settings(max_examples=15, deadline=None)
@given(seed=seeds)
def test_what_is_reached_is_never_given_up_for_more(seed):
    """However far the goal, the mutants together never fall back behind the rule's threshold."""
    table = random_table(np.random.default_rng(seed), originals=5, inputs=60, weak=0.3)
    weights = even([row.label for row in table.rows])
    choice = choose(distances_of(table), weights, np.arange(60), 49)
    killed = np.minimum(choice.reached, 1) @ weights
    assert (np.diff(killed) > -1e-5).all()
