import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.verbs.assess.muff.score import interval_score, killed_classes, sensitivity, set_score

share = st.floats(0, 1)


def test_the_papers_example():
    assert interval_score(0.5, 0.3, 1.0) == pytest.approx(0.5 / 0.7)


@given(share, share, share)
def test_interval_form_is_the_limit_of_the_set_form(test, train, upper):
    grid = np.linspace(0, upper, 4001)
    expected = set_score(grid[grid >= test].tolist(), grid[grid >= train].tolist())
    if train > upper - 0.05 or expected is None:
        return
    score = interval_score(test if test <= upper else None, train, upper)
    assert score == pytest.approx(expected, abs=0.01)


@given(share, share, share)
def test_a_sharper_test_set_never_scores_lower(train, first, second):
    low, high = sorted((first, second))
    assert interval_score(low, train, 1.0) >= interval_score(high, train, 1.0) >= 0
    assert interval_score(low, train, 1.0) <= 1


def test_scores_of_nothing():
    assert interval_score(0.4, None, 1.0) is None
    assert interval_score(None, 0.4, 1.0) == 0
    assert interval_score(1.0, 1.0, 1.0) == 1
    assert set_score({1}, set()) is None
    assert set_score(set(), {1}) == 0


@pytest.mark.parametrize(
    ("strong", "weak", "any_weak", "value"),
    [
        (0.8, 0.2, True, 0.75),
        (0.8, 0.0, False, 1.0),  # no mutant from the weak set: perfect by convention
        (None, None, False, None),  # none from train: undefined
        (0.0, 0.0, True, None),
        (0.5, 0.6, True, -0.2),
        (0.5, None, True, None),
        (0.5, None, False, None),  # the weak set's verdicts are unstable: not the same as missed
    ],
)
def test_sensitivity_follows_the_papers_conventions(strong, weak, any_weak, value):
    relative, reason = sensitivity(strong, weak, any_weak)
    assert relative == (None if value is None else pytest.approx(value))
    assert bool(reason) == (value is None)


@given(st.integers(1, 40), st.integers(2, 6), st.randoms(use_true_random=False))
def test_killed_classes_against_a_loop(n, classes, random):
    right = np.array([random.random() < 0.8 for _ in range(n)])
    mutant = np.array([random.random() < 0.8 for _ in range(n)])
    labels = np.array([random.randrange(classes) for _ in range(n)])
    killed = set()
    for j in range(n):
        if right[j] and not mutant[j]:
            killed.add(labels[j])
    assert killed_classes(right, mutant, labels, classes) == len(killed)
