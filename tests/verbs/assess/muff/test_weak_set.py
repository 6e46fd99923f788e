import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import CleanPass, Outcome
from mutiny.verbs.assess.muff.options import WeakSet

seeds = st.integers(0, 10**6)


def passes(confidences=None, losses=None):
    rows = confidences if losses is None else losses
    size = len(rows[0])
    outcome = Outcome(np.packbits(np.ones(size, bool)), size, 1.0)
    return [
        CleanPass(outcome, np.asarray(row, float), None if losses is not None else np.asarray(row), None)
        for row in rows
    ]


@given(seeds, st.integers(1, 4), st.integers(2, 30), st.floats(0.05, 0.95))
@settings(max_examples=50, deadline=None)
def test_keeps_the_share_on_which_the_originals_are_most_confident(seed, originals, size, share):
    confidences = np.random.default_rng(seed).random((originals, size))
    kept = WeakSet(share).choose(passes(confidences))
    mean = [sum(row[j] for row in confidences) / originals for j in range(size)]
    assert len(kept) == max(1, round(share * size))
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert min(mean[j] for j in kept) >= max((mean[j] for j in range(size) if j not in kept), default=0)


def test_a_confidence_keeps_what_reaches_it():
    rows = [[0.9, 0.5, 0.99, 0.7], [0.8, 0.9, 0.99, 0.6]]
    assert WeakSet(confidence=0.7).choose(passes(rows)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("confidence", [0.1, 1.0])
def test_a_confidence_that_keeps_all_or_nothing_is_refused(confidence):
    with pytest.raises(BadInput, match=r"weak confidence=.*median confidence is 0\.6"):
        WeakSet(confidence=confidence).choose(passes([[0.5, 0.6, 0.7]]))


@given(seeds, st.integers(1, 4), st.integers(2, 25))
@settings(max_examples=50, deadline=None)
def test_regression_removes_inputs_by_mean_or_spread_of_the_loss(seed, originals, size):
    """An input stays if neither its mean loss nor the loss's spread is among the extremes."""
    losses = np.random.default_rng(seed).random((originals, size))
    means, spreads = losses.mean(axis=0), losses.std(axis=0)
    for name, sign in (("high-loss", 1), ("low-loss", -1)):
        kept = set(WeakSet(0.5, regression=name).choose(passes(losses=losses)).tolist())
        assert len(kept) == max(1, round(size / 2))

        def extreme(j, sign=sign):
            """How many inputs are milder than j, by mean or by spread, whichever is worse for j."""
            by_mean = sum(sign * means[i] < sign * means[j] for i in range(size))
            by_spread = sum(sign * spreads[i] < sign * spreads[j] for i in range(size))
            return by_mean if originals == 1 else max(by_mean, by_spread)

        gone = set(range(size)) - kept
        assert max(map(extreme, kept)) <= min(map(extreme, gone), default=size)


def test_the_easy_input_goes_as_the_paper_is_worded_and_the_hard_one_on_demand():
    losses = [[0.1, 5.0, 0.2, 0.0]]
    assert 3 not in WeakSet(0.75).choose(passes(losses=losses))
    assert 1 not in WeakSet(0.75, regression="high-loss").choose(passes(losses=losses))


@pytest.mark.parametrize(
    "bad",
    [
        {"share": 0},
        {"share": 1},
        {"share": float("nan")},
        {"confidence": 0},
        {"confidence": 1.1},
        {"regression": "both"},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(BadInput, match="weak"):
        WeakSet(**bad)
