"""CES against a slow sampler that recounts everything, and what its samples are good for."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select.ces import Ces, binned, closeness, counted, representative
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.traces import Traces


def traced(values):
    values = torch.as_tensor(values, dtype=torch.float32)
    traces = Traces(*values.shape)
    traces.add(values)
    return traces


def evidence_of(n=80, seed=0, batch_size=16, task=None, **settings):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3)).eval()
    pool = as_data((torch.randn(n, 5), np.zeros(n, int)), "pool")
    return Evidence([model], task or Classification(3, "logits"), pool, seed=seed, batch_size=batch_size, **settings)


# Bins


@given(st.lists(st.tuples(*[st.floats(-50, 50, width=32)] * 3), min_size=1, max_size=20), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_every_value_is_between_the_borders_of_its_bin(values, bins):
    codes = binned(traced(values), bins)
    for unit, column in enumerate(np.array(values, np.float32).astype(np.float64).T):
        borders = np.linspace(column.min(), column.max(), bins + 1)
        slack = 1e-9 * max(1.0, np.abs(column).max())
        for value, code in zip(column, codes[:, unit], strict=True):
            assert borders[code] - slack <= value <= borders[code + 1] + slack
        assert codes[column.argmin(), unit] == 0
        assert codes[column.argmax(), unit] == (bins - 1 if np.ptp(column) else 0)


def test_borders_belong_to_the_upper_bin_and_the_maximum_to_the_last():
    assert binned(traced([[0], [1], [2], [3], [4]]), 4)[:, 0].tolist() == [0, 1, 2, 3, 3]


def test_bins_do_not_depend_on_how_much_is_read_at_once(monkeypatch):
    values = np.random.default_rng(0).normal(size=(40, 6))
    expected = binned(traced(values), 4)
    monkeypatch.setattr("mutiny.verbs.select.traces.CHUNK_BYTES", 7 * 6 * 4)
    assert len(list(traced(values).chunks())) == 6
    assert np.array_equal(binned(traced(values), 4), expected)


# Closeness


def slow_closeness(codes, sample, bins):
    """Mean over units of the sum over bins, everything counted anew."""
    total = 0.0
    for unit in range(codes.shape[1]):
        for code in range(bins):
            pool = sum(row[unit] == code for row in codes) / len(codes)
            own = sum(codes[position][unit] == code for position in sample) / len(sample)
            if pool >= 0.5 / len(sample):
                total += pool * math.log(max(own, 1e-10))
    return total / codes.shape[1]


@given(st.integers(2, 5), st.integers(1, 12), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_closeness_is_the_slow_sum(bins, size, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, bins, size=(15, 3), dtype=np.uint8)
    sample = rng.permutation(15)[:size]
    found = closeness(counted(codes, bins) / 15, counted(codes[sample], bins)[None], size)
    assert found[0] == pytest.approx(slow_closeness(codes, sample, bins), rel=1e-9)


@given(st.integers(2, 5), st.integers(1, 20), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_nothing_is_closer_to_the_pool_than_the_pool(bins, size, seed):
    """Gibbs' inequality, over bins that count."""
    rng = np.random.default_rng(seed)
    pool = np.sort(rng.integers(0, bins, size=(20, 1), dtype=np.uint8), axis=0)
    sample = pool[rng.integers(0, 20, size=20)]
    shares = counted(pool, bins) / 20
    best, other = closeness(shares, np.stack([counted(pool, bins), counted(sample, bins)]), 20)
    assert other <= best + 1e-12


# The sample


def slow_sample(codes, bins, first, step, groups, wanted, rng):
    """The same draws, but each group is judged with everything that was chosen before."""
    left = rng.permutation(len(codes)).tolist()
    sample, left = left[:first][:wanted], left[min(first, wanted) :]
    while len(sample) < wanted:
        size = min(step, wanted - len(sample))
        left = rng.permutation(left).tolist()
        starts = rng.integers(0, len(left) - size + 1, size=groups).tolist()
        drawn = [left[start : start + size] for start in starts]
        values = [slow_closeness(codes, sample + group, bins) for group in drawn]
        before = slow_closeness(codes, sample, bins) if sample else -math.inf
        chosen = drawn[values.index(max(values))] if max(values) > before else drawn[0]
        sample = sample + chosen
        left = [position for position in left if position not in chosen]
    return sample


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("first", "step", "wanted"), [(6, 3, 17), (1, 5, 30), (8, 2, 5), (4, 7, 30)])
def test_the_sample_is_that_of_the_slow_sampler(seed, first, step, wanted):
    codes = np.random.default_rng(seed).integers(0, 4, size=(30, 5), dtype=np.uint8)
    found = representative(codes, 4, first, step, 6, wanted, np.random.default_rng(seed))
    assert found.tolist() == slow_sample(codes, 4, first, step, 6, wanted, np.random.default_rng(seed))


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 8), st.integers(0, 50), st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_no_input_is_chosen_twice(n, first, step, wanted, seed):
    codes = np.random.default_rng(seed).integers(0, 4, size=(n, 3), dtype=np.uint8)
    found = representative(codes, 4, first, step, 5, wanted, np.random.default_rng(seed))
    assert len(found) == min(wanted, n) == len(set(found.tolist()))


def test_samples_estimate_better_than_random_ones():
    """A rate that depends on the units: its estimate from 60 inputs has a smaller error than from 60 random ones."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(1500, 3))
    codes = binned(traced(hidden), 4)
    correct = rng.random(1500) < 1 / (1 + np.exp(-3 * hidden[:, 0]))
    errors = {"ces": [], "random": []}
    for seed in range(60):
        sample = representative(codes, 4, 30, 5, 30, 60, np.random.default_rng(seed))
        errors["ces"].append(correct[sample].mean() - correct.mean())
        errors["random"].append(correct[np.random.default_rng(seed).permutation(1500)[:60]].mean() - correct.mean())
    assert np.std(errors["ces"]) < 0.85 * np.std(errors["random"])


# The method


def test_the_sample_comes_first_and_the_rest_as_equals():
    scores = Ces(first=6, share=0.25).score(evidence_of(80))
    assert (scores > 0).sum() == 20
    assert sorted(scores[scores > 0]) == list(range(61, 81))
    assert (Ces(share=0).score(evidence_of()) == 0).all()
    assert len(set(Ces(share=1).score(evidence_of()))) == 80


def test_ces_reads_the_input_of_the_output_layer_and_notes_its_purpose():
    evidence = evidence_of()
    Ces().score(evidence)
    assert any("does not search for faults" in note for note in evidence.notes)
    assert any("what the output layer 2 reads: 12 units" in note for note in evidence.notes)


def test_the_seed_decides_and_batches_do_not():
    first, same, other = (Ces().score(evidence_of(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)
    assert np.array_equal(first, Ces().score(evidence_of(batch_size=5)))


def test_it_works_for_regression_and_for_a_small_pool():
    Ces().rank(evidence_of(task=Regression(0.1)))
    assert Ces().score(evidence_of(n=3)).shape == (3,)


@pytest.mark.parametrize("wrong", [{"bins": 1}, {"bins": 300}, {"first": 0}, {"step": 0}, {"groups": 0}, {"share": 2}])
def test_parameters_are_checked(wrong):
    with pytest.raises(BadInput, match=f"ces {next(iter(wrong))}"):
        Ces(**wrong)
