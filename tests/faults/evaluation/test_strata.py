"""Strata of inputs."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.faults.evaluation.strata import CHANCES, Strata


def test_strata_hold_each_input_once_the_least_sure_first():
    rng = np.random.default_rng(0)
    sure, right = rng.exponential(1.0, 5000).astype(np.float32), rng.random(5000) < 0.9
    found = Strata.by_sureness(sure, right, rng.random(5000))
    assert sorted(np.concatenate(found.members).tolist()) == list(range(5000))
    groups = [group for group, is_right in zip(found.members, found.right, strict=True) if is_right]
    for less, more in pairwise(groups):
        assert sure[less].max() <= sure[more].min()
    for group, is_right in zip(found.members, found.right, strict=True):
        assert (right[group] == is_right).all()


@pytest.mark.parametrize(("inputs", "right"), [(40, True), (40, False), (3, True)])
def test_strata_of_one_kind_of_answers_or_of_few_inputs(inputs, right):
    found = Strata.by_sureness(np.linspace(0, 1, inputs, dtype=np.float32), np.full(inputs, right), np.zeros(inputs))
    assert found.sizes.sum() == inputs
    assert all(found.sizes)


@given(st.integers(0, 2**32 - 1), st.integers(1, 300))
def test_strata_by_chance_hold_each_given_input_once_with_its_mean_chance(seed, inputs):
    rng = np.random.default_rng(seed)
    chance, right = rng.beta(0.2, 0.5, inputs), rng.random(inputs) < 0.8
    given_inputs = np.flatnonzero(rng.random(inputs) < 0.7)
    found = Strata.by_chance(given_inputs, chance, right, rng.random(inputs))
    assert sorted(np.concatenate([[], *found.members]).tolist()) == given_inputs.tolist()
    for group, rate, is_right in zip(found.members, found.rate, found.right, strict=True):
        assert len(set(np.searchsorted(CHANCES, chance[group]))) == 1
        assert rate == pytest.approx(chance[group].mean(), abs=2e-3)
        assert (right[group] == is_right).all()


def test_members_between_are_ascending_with_their_strata():
    members = (np.array([5, 1, 3]), np.array([4, 0, 2]))
    found = Strata(members, np.array([True, False]), np.zeros(2))
    positions, stratum = found.between(np.array([1, 0]), np.array([3, 1]))
    assert positions.tolist() == [1, 3, 4]
    assert stratum.tolist() == [0, 0, 1]
    assert [part.tolist() for part in found.between(np.zeros(2, int), np.zeros(2, int))] == [[], []]
