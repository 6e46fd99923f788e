"""Copies of tests count once: they change neither the notice rate nor anything else but what is counted."""

import copy

import numpy as np
import pytest
import torch

import mutiny
from mutiny.subjects.data import as_data
from mutiny.verbs.assess.against import compare_test_sets
from mutiny.verbs.assess.distinct_tests import DistinctTests
from verbs.assess.found import points, regression, subject

ARGUMENTS = {"operators": "GF,WI", "seeds": 2, "batch_size": 512}
ORDER = np.random.default_rng(0).permutation(np.repeat(np.arange(30), 5))


@pytest.fixture(scope="module")
def once():
    x, y = points(30, seed=1)
    order = ORDER[np.sort(np.unique(ORDER, return_index=True)[1])]
    return mutiny.assess(subject(test=(x[order], y[order])), **ARGUMENTS)


@pytest.fixture(scope="module")
def five_times():
    x, y = points(30, seed=1)
    return mutiny.assess(subject(test=(x[ORDER], y[ORDER])), **ARGUMENTS)


def test_copies_change_no_verdict_and_are_told(once, five_times):
    assert five_times.notice == once.notice
    assert five_times.faults == once.faults
    assert five_times.subject == once.subject
    assert five_times.notes == ("120 of 150 tests are copies of others; each counts once.", *once.notes)


def test_changed_answers_have_positions_in_the_whole_test_set(once, five_times):
    assert five_times.changed.inputs == 150
    first = np.sort(np.unique(ORDER, return_index=True)[1])
    assert once.changed.inputs == 30
    assert len(once.changed.position)
    assert five_times.changed.position.tolist() == first[once.changed.position].tolist()
    assert five_times.changed.position.dtype == np.int32


def test_a_test_set_with_copies_is_compared_on_the_same_faults(once, five_times):
    for earlier, later in ((once, five_times), (five_times, once)):
        comparison = compare_test_sets(earlier.faults, later)
        assert (comparison.difference, comparison.faults) == (0, once.notice.faults)


def test_copies_of_regression_tests_count_once():
    some = regression(originals=2)
    doubled = copy.copy(some)
    doubled.test = some.test.subset(np.tile(np.arange(len(some.test)), 2))
    once, twice = (mutiny.assess(each, "GF", seeds=1, batch_size=512) for each in (some, doubled))
    assert twice.notice == once.notice


def test_equal_inputs_with_other_targets_are_other_tests():
    x, y = torch.zeros(6, 2), [0, 1, 0, 2, 1, 0]
    distinct = DistinctTests.of(as_data((x, y), "test"))
    assert (distinct.positions.tolist(), distinct.size, distinct.copies) == ([0, 1, 3], 6, 3)


def test_a_test_set_without_copies_is_used_as_it_is():
    test = as_data(points(40), "test")
    assert DistinctTests.of(test).part_of(test) is test
