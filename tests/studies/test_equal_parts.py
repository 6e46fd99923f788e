"""Accuracy in equal parts of a pool: against sorted slices, all ways to break ties, scipy; laws; the paper."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as reference
from studies.nss.equal_parts import Correlation, partition_accuracy, partition_correlation

from mutiny.core.errors import BadInput


def test_the_example_of_table_2():
    """Scores 0.4, 0, 0.3, 0.25, 0.2, 0.1 put x1, x3, x4, x5, x6, x2 in this order; say x1, x4 and x6 are wrong."""
    scores = np.array([0.4, 0, 0.3, 0.25, 0.2, 0.1])
    wrong = np.array([True, False, False, True, False, True])
    assert partition_accuracy(scores, ~wrong, parts=6).tolist() == [1, 0, 1, 0, 1, 0]  # from x2 to x1
    assert partition_accuracy(scores, ~wrong, parts=3).tolist() == [0.5, 0.5, 0.5]


def test_correlation_of_four_inputs_in_four_parts():
    found = partition_correlation([1, 2, 3, 6], [True, True, True, False], parts=4)
    assert found == Correlation(pytest.approx(-0.92582, abs=1e-5), pytest.approx(-0.774597, abs=1e-6))


pools = st.lists(st.tuples(st.integers(-3, 9), st.booleans()), min_size=10, max_size=60)


@given(st.lists(st.booleans(), min_size=10, max_size=60), st.integers(0, 99), st.integers(1, 10))
@settings(deadline=None, max_examples=50)
def test_partition_accuracy_of_distinct_scores_is_that_of_sorted_slices(correct, seed, parts):
    scores = np.random.default_rng(seed).permutation(len(correct)) / 7 - 1
    ranked = [right for _, right in sorted(zip(scores, correct, strict=True))]
    sizes = [len(correct) // parts + (part < len(correct) % parts) for part in range(parts)]
    pieces = [[ranked.pop(0) for _ in range(size)] for size in sizes]
    assert partition_accuracy(scores, correct, parts) == pytest.approx([np.mean(piece) for piece in pieces])


def test_equal_scores_share_their_accuracy():
    """The mean over all ways to break the tie."""
    scores, correct = [0, 0, 0, 1], [True, False, False, True]
    ways = [[correct[i] for i in (*tie, 3)] for tie in itertools.permutations(range(3))]
    expected = np.mean([[np.mean(way[:2]), np.mean(way[2:])] for way in ways], axis=0)
    assert partition_accuracy(scores, correct, parts=2) == pytest.approx(expected)


@given(pools, st.integers(0, 99), st.sampled_from(["mean", "rank"]))
@settings(deadline=None, max_examples=50)
def test_laws_of_partitions(pool, seed, of):
    scores, correct = np.array(pool).T
    correct, mixed = correct.astype(bool), np.random.default_rng(seed).permutation(len(pool))
    accuracy = partition_accuracy(scores, correct)
    assert ((accuracy >= 0) & (accuracy <= 1)).all()
    assert np.array_equal(partition_accuracy(scores[mixed], correct[mixed]), accuracy)
    assert np.array_equal(partition_accuracy(4 * scores + 1, correct), accuracy)
    here, there = (partition_correlation(factor * scores, correct, of=of) for factor in (1, 4))
    wrong = partition_correlation(scores, ~correct, of=of)
    for name in ("pearson", "spearman"):
        value = getattr(here, name)
        if value is None:
            assert getattr(there, name) is getattr(wrong, name) is None
        else:
            assert -1 <= value <= 1
            assert getattr(there, name) == pytest.approx(value)
            assert getattr(wrong, name) == pytest.approx(-value, abs=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e300])
def test_partition_correlation_is_that_of_scipy(scale):
    rng = np.random.default_rng(1)
    scores = rng.exponential(size=500)
    correct = rng.random(500) > scores / 4
    accuracy = partition_accuracy(scores, correct)
    means = [piece.mean() for piece in np.array_split(np.sort(scores), 10)]
    for of, place in (("mean", means), ("rank", range(1, 11))):
        found = partition_correlation(scores * scale, correct, of=of)
        assert found.pearson == pytest.approx(reference.pearsonr(place, accuracy).statistic)
        assert found.spearman == pytest.approx(reference.spearmanr(place, accuracy).statistic)
        assert found.pearson < -0.5


def test_one_huge_score_changes_the_mean_but_not_the_rank():
    scores, correct = np.arange(100.0), np.arange(100) < 50
    plain = partition_correlation(scores, correct, of="rank")
    scores[-1] = 1e15
    assert partition_correlation(scores, correct, of="rank") == plain
    assert partition_correlation(scores, correct).spearman == pytest.approx(plain.spearman)
    assert abs(partition_correlation(scores, correct).pearson) < 0.5 < abs(plain.pearson)


def test_correlation_with_what_does_not_vary_is_undefined():
    correct = np.arange(70) % 7 < 3
    tied = partition_correlation(np.full(70, 0.1), correct)
    right = partition_correlation(np.arange(70), correct | True)
    assert tied.pearson is tied.spearman is right.pearson is right.spearman is None
    assert partition_correlation(np.full(70, 0.1), correct, of="rank").pearson is None  # equal scores, equal accuracy


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        (lambda: partition_accuracy([1, 2], [True], 1), "scores"),
        (lambda: partition_accuracy([1, math.nan], [True, True], 1), "scores"),
        (lambda: partition_accuracy([1, 2], [True, False], 3), "parts"),
        (lambda: partition_correlation([1, 2], [True, False], 1), "parts"),
        (lambda: partition_correlation([1, 2], [True, False], 2, of="median"), "of="),
    ],
)
def test_what_is_refused(call, argument):
    with pytest.raises(BadInput, match=f"^{argument}"):
        call()
