import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint

from mutiny.verbs.assess.muff.redundancy import redundant


def slow(counts, level=0.9):
    """DeepCrime's definition with statsmodels' Wilson interval and loops."""

    def wilson(k, n):
        return proportion_confint(k, n, alpha=1 - level, method="wilson")

    gone = []
    for easy, (easy_kills, easy_n) in counts.items():
        for hard, (hard_kills, hard_n) in counts.items():
            if hard == easy:
                continue
            below = telling = 0
            for a, b in zip(hard_kills, easy_kills, strict=True):
                (a_low, a_high), (b_low, b_high) = wilson(a, hard_n), wilson(b, easy_n)
                if a_high < b_low or b_high < a_low:
                    telling += 1
                    below += a / hard_n <= b / easy_n
            if telling and below == telling:
                low, high = wilson(below, telling)
                if (high - low) / 2 < 0.05:
                    gone.append(easy)
                    break
    return tuple(gone)


@given(st.integers(0, 10**6), st.integers(2, 4))
@settings(max_examples=12, deadline=None)
def test_against_loops_and_statsmodels(seed, mutants):
    rng = np.random.default_rng(seed)
    base = rng.random(60)
    counts = {
        name: (rng.binomial(20, np.clip(base * rng.choice([0.2, 0.6, 1.0]), 0, 1)), 20) for name in range(mutants)
    }
    assert redundant(counts) == slow(counts)


def test_the_easier_of_two_is_redundant_and_equals_keep_one():
    hard, easy = np.array([0] * 100), np.array([20] * 100)
    assert redundant({"hard": (hard, 20), "easy": (easy, 20)}) == ("easy",)
    assert redundant({"a": (hard, 20), "b": (hard, 20)}) == ()  # no telling input: nothing is claimed


def test_few_telling_inputs_prove_nothing():
    hard, easy = np.array([0] * 20), np.array([20] * 20)
    assert redundant({"hard": (hard, 20), "easy": (easy, 20)}) == ()


@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
def test_what_a_redundant_mutant_makes_redundant_stays_so(order):
    """Here a subsumes b and b subsumes c, but a does not subsume c: 12 kills of 20 differ from 4, 9 from neither."""
    counts = {name: np.repeat(kills, 50) for name, kills in {"a": [0, 12], "b": [10, 9], "c": [20, 4]}.items()}
    pairs = {two: redundant({name: (counts[name], 20) for name in two}) for two in ("ab", "bc", "ac")}
    assert pairs == {"ab": ("b",), "bc": ("c",), "ac": ()}
    assert set(redundant({name: (counts[name], 20) for name in order})) == {"b", "c"}
