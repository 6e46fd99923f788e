import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.faults.evaluation.prediction import MIN_MOVES, AnswerMemory, finite_rows, linear_map, residual_scale


def rows(n, q, seed=0):
    return torch.randn(n, q, generator=torch.Generator().manual_seed(seed))


def mapped(clean, weights, positive, constant):
    return clean @ weights + clean.clamp(min=0) @ positive + constant


@pytest.mark.parametrize("q", [1, 2, 10])
def test_a_linear_map_of_the_answers_and_of_their_positive_part_is_found(q):
    clean = 4 * rows(3000, q)
    truth = mapped(clean, torch.eye(q) + rows(q, q, 1) / 5, rows(q, q, 2) / 5, rows(1, q, 3))
    some = np.arange(0, 3000, 5)
    predicted = linear_map(clean, [(some[:300], truth[some[:300]]), (some[300:], truth[some[300:]])])
    off = (predicted - truth).norm() / (clean - truth).norm()
    assert predicted.shape == truth.shape
    assert off < 2e-3  # the ridge


def test_noise_does_not_spoil_a_map():
    clean = 4 * rows(3000, 10)
    truth = clean @ (torch.eye(10) + rows(10, 10, 1) / 20) + 0.1 * rows(3000, 10, 2)
    some = np.arange(400)
    residual = (linear_map(clean, [(some, truth[some])]) - truth)[400:]
    assert 0.1 <= residual.std() < 0.11
    assert (clean - truth)[400:].std() > 0.4


@pytest.mark.parametrize("known", [0, 1, 2 * (2 * 3 + 1)])
def test_with_too_few_answers_the_original_predicts_itself(known):
    clean = rows(100, 3)
    some = np.arange(known)
    predicted = linear_map(clean, [(some, clean[some] + 5)])
    assert torch.equal(predicted, clean)
    assert predicted is not clean


@pytest.mark.parametrize("bad", [torch.nan, torch.inf, -torch.inf])
def test_answers_that_are_no_numbers_are_left_out(bad):
    clean = rows(500, 4)
    truth = clean @ rows(4, 4, 1)
    some = np.arange(200)
    broken = truth[some].clone()
    broken[::3, 1] = bad
    kept = np.flatnonzero(np.arange(200) % 3)
    indices, answers = finite_rows([(some[:90], broken[:90]), (some[90:], broken[90:])])
    assert np.array_equal(indices, kept)
    assert torch.equal(answers, truth[kept])
    assert torch.equal(linear_map(clean, [(some, broken)]), linear_map(clean, [(kept, truth[kept])]))


def test_one_answer_for_all_inputs_can_be_predicted():
    """Also from an original with constant outputs, where only the ridge makes the system solvable."""
    clean = rows(100, 2)
    seen = [(np.arange(50), torch.full((50, 2), 7.0))]
    assert torch.allclose(linear_map(clean, seen), torch.full((100, 2), 7.0), rtol=0.01)
    assert linear_map(torch.ones(100, 2), seen).isfinite().all()


# Memory


def slow_between(known, strength, clean):
    """One input at a time: the nearest answers below and above."""
    found = {}
    for index in range(len(clean)):
        below, above = [(0.0, clean[index])], []
        for value, indices, answers in known:
            for place in np.flatnonzero(indices == index):
                (above if value > strength else below if value < strength else []).append((value, answers[place]))
        if above:
            low, high = max(below, key=lambda entry: entry[0]), min(above, key=lambda entry: entry[0])
            way = (strength - low[0]) / (high[0] - low[0])
            found[index] = low[1], high[1], way, low[1] + (high[1] - low[1]) * way
    return found


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 10**6)), min_size=1, max_size=6, unique_by=lambda p: p[0]),
    st.integers(1, 19),
)
@settings(max_examples=60, deadline=None)
def test_the_nearest_strengths_on_both_sides_are_interpolated(probes, at):
    clean, memory, known = rows(12, 2), AnswerMemory(), []
    for value, seed in probes:
        indices = np.random.default_rng(seed).permutation(12)[: seed % 13]
        answers = rows(len(indices), 2, seed)
        half = len(indices) // 2
        parts = [(indices[:half], answers[:half]), (indices[half:], answers[half:])]
        memory.add(3, 1, value / 20, parts)
        known.append((value / 20, indices, answers))
    found, expected = memory.between(3, 1, at / 20, clean), slow_between(known, at / 20, clean)
    if found is None:
        assert not expected
        return
    assert found.indices.tolist() == list(expected)
    for place, (low, high, way, middle) in enumerate(expected.values()):
        assert torch.equal(found.low[place], low)
        assert torch.equal(found.high[place], high)
        assert found.way[place] == pytest.approx(way)
        assert torch.allclose(found.interpolated[place], middle, atol=1e-5)
        assert found.curve[place] == pytest.approx(way * (1 - way))
    assert ((found.way > 0) & (found.way < 1)).all()


def test_nothing_is_known_between_without_a_larger_strength_or_for_other_instances():
    clean, memory = rows(5, 2), AnswerMemory()
    memory.add(0, 0, 0.5, [(np.arange(5), clean + 1)])
    assert memory.between(0, 0, 0.5, clean) is None
    assert memory.between(0, 0, 0.7, clean) is None
    assert memory.between(1, 0, 0.2, clean) is None
    assert memory.between(0, 1, 0.2, clean) is None
    halfway = memory.between(0, 0, 0.25, clean)
    assert torch.allclose(halfway.interpolated, clean + 0.5)


def test_looseness_grows_with_what_was_off_and_stays_within_bounds():
    memory, rng = AnswerMemory(), np.random.default_rng(0)
    memory.learn(np.full(MIN_MOVES - 1, 50.0))
    assert memory.looseness == 1  # too few to tell
    memory.learn(rng.exponential(size=5000) * 3 / np.log(100))
    assert memory.looseness == pytest.approx(1, rel=0.1)  # one in a hundred beyond 3
    memory.learn(np.full(MIN_MOVES, 6.0))
    assert memory.looseness == pytest.approx(2, rel=0.1)
    for _ in range(5):
        memory.learn(np.full(MIN_MOVES, np.inf))
    assert memory.looseness == 10
    for _ in range(5):
        memory.learn(np.zeros(MIN_MOVES))
    assert memory.looseness == 0.02


def test_checks_at_larger_strengths_count_for_smaller_ones():
    memory = AnswerMemory()
    for strength, count in ((0.5, 100), (0.25, 10), (0.5, 1), (None, 1000)):
        memory.check(strength, count)
    assert [memory.checked(s) for s in (0.1, 0.25, 0.4, 0.5, 0.6, None)] == [111, 111, 101, 101, 0, 0]


# residual_scale


@given(st.floats(0.1, 5), st.floats(0, 2), st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_residuals_that_grow_with_the_lead_are_recognized(start, slope, seed):
    rng = np.random.default_rng(seed)
    lead = rng.normal(0, 5, 20_000).astype(np.float32)
    residual = (start + slope * np.abs(lead)) * rng.laplace(size=20_000).astype(np.float32)
    a, b = residual_scale(lead, residual)
    assert a > 0
    assert b > 0
    scale, mean = a + b * np.abs(lead), 1.25 * (start + slope * np.abs(lead))
    assert np.abs(scale / mean - 1)[np.abs(lead) > 1].max() < 0.35
    assert np.abs(scale / mean - 1).mean() < 0.1


@given(st.lists(st.floats(-1e3, 1e3, width=32), max_size=8), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_scales_are_positive_and_finite_whatever_was_seen(lead, seed):
    residual = np.random.default_rng(seed).normal(size=len(lead)) * (seed % 3)
    a, b = residual_scale(np.array(lead, np.float32), residual.astype(np.float32))
    assert 0 < a < np.inf
    assert 0 < b < np.inf


def test_residuals_that_shrink_with_the_lead_have_one_scale():
    lead = np.linspace(1, 10, 100, dtype=np.float32)
    a, b = residual_scale(lead, 1 / lead)
    assert b == 1e-3
    assert a == pytest.approx(1.25 * (1 / lead).mean(), rel=1e-5)
