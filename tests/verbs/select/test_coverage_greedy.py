import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mutiny.verbs.select.coverage import greedy
from mutiny.verbs.select.coverage.greedy import additional, completed, gainful, total
from mutiny.verbs.select.coverage.profile import Profile

SECTIONS = 4
shapes = st.tuples(st.integers(1, 14), st.integers(1, 6))
pools = shapes.flatmap(lambda shape: arrays(np.int8, shape, elements=st.integers(-1, SECTIONS - 1)))


def elements(row):
    return {(neuron, int(code)) for neuron, code in enumerate(row) if code >= 0}


def slow_additional(codes):
    """Greedy over sets; first of equals; the rest by how much they cover alone."""
    sets, covered, order, rest = [elements(row) for row in codes], set(), [], list(range(len(codes)))
    while rest:
        best = max(rest, key=lambda i: (len(sets[i] - covered), -i))
        if not sets[best] - covered:
            break
        covered |= sets[best]
        order.append(best)
        rest.remove(best)
    return order, order + sorted(rest, key=lambda i: (-len(sets[i]), i))


@given(pools, st.sampled_from([1, 2, SECTIONS]))
@settings(max_examples=120, deadline=None)
def test_the_order_is_that_of_a_greedy_search_over_sets(codes, sections):
    codes = np.minimum(codes, sections - 1)
    chosen, order = slow_additional(codes)
    assert gainful(codes, sections).tolist() == chosen
    assert additional(codes, sections).tolist() == order
    assert additional(held(codes, sections, in_memory=0), sections).tolist() == order


@given(pools)
@settings(max_examples=60, deadline=None)
def test_laws_of_additional_coverage(codes):
    before = codes.copy()
    chosen, order = gainful(codes, SECTIONS), additional(codes, SECTIONS)
    assert np.array_equal(codes, before)
    assert sorted(order) == list(range(len(codes)))
    sets = [elements(row) for row in codes]
    covered, gains = set(), []
    for index in chosen:
        gains.append(len(sets[index] - covered))
        covered |= sets[index]
    assert covered == set().union(*sets)
    assert gains == sorted(gains, reverse=True)
    assert all(gains)
    counts = total(codes)
    assert counts.tolist() == [len(one) for one in sets]
    assert counts[order[0]] == counts.max()
    # at least 1 - 1/e of what any other choice of so many inputs covers (Nemhauser et al., 1978)
    by_total = np.argsort(-counts, kind="stable")
    for m in range(1, len(codes) + 1):
        rival = set().union(*(sets[i] for i in by_total[:m]))
        assert len(set().union(*(sets[i] for i in order[:m]))) >= (1 - 1 / np.e) * len(rival)


@given(pools, st.randoms())
@settings(max_examples=30, deadline=None)
def test_the_order_does_not_depend_on_the_order_of_neurons_and_sections(codes, random):
    names = np.array([*random.sample(range(SECTIONS), SECTIONS), -1])
    neurons = random.sample(range(codes.shape[1]), codes.shape[1])
    assert np.array_equal(additional(names[codes][:, neurons], SECTIONS), additional(codes, SECTIONS))


def random_codes(n, neurons, sections, kind, seed=0):
    return np.random.default_rng(seed).integers(-1, sections, (n, neurons)).astype(kind)


@pytest.mark.parametrize(("at_once", "column_bytes"), [(1, 1), (7, 200), (50, 10**6)])
@pytest.mark.parametrize("in_memory", [0, 10**6])
def test_working_in_parts_and_from_a_file_changes_nothing(monkeypatch, at_once, column_bytes, in_memory):
    codes = random_codes(60, 10, 5, np.int8)
    whole = additional(codes, 5)
    monkeypatch.setattr(greedy, "AT_ONCE", at_once)
    monkeypatch.setattr(greedy, "COLUMN_BYTES", column_bytes)
    assert np.array_equal(additional(codes, 5), whole)
    assert np.array_equal(additional(held(codes, 5, in_memory), 5), whole)


def held(codes, sections, in_memory):
    """The same codes in a profile, written in parts and in no order."""
    profile, rows = Profile(*codes.shape, sections, in_memory), np.random.default_rng(0).permutation(len(codes))
    for some in np.array_split(rows, 3):
        profile.put(some, codes[some].astype(np.int64))
    return profile


@pytest.mark.parametrize("in_memory", [0, 10**6])
@pytest.mark.parametrize(("sections", "kind"), [(1, np.int8), (128, np.int8), (129, np.int16), (40_000, np.int32)])
def test_a_profile_reads_as_an_array_and_takes_as_little_memory_as_it_can(sections, kind, in_memory):
    codes = random_codes(9, 4, sections, np.int32)
    codes[4, 2] = sections - 1
    profile = held(codes, sections, in_memory)
    assert profile.dtype == profile[3].dtype == kind
    assert profile.shape == codes.shape
    for rows in (0, 8, slice(0, 9), slice(2, 5), slice(7, 20)):
        assert np.array_equal(profile[rows], codes[rows])


def test_the_type_of_the_codes_changes_nothing():
    codes = random_codes(300, 7, 128, np.int8)  # 127 is the largest number of this type
    assert codes.max() == 127
    assert additional(codes, 128).tolist() == slow_additional(codes)[1]
    for kind in (np.int16, np.int32, np.int64):
        assert np.array_equal(additional(codes.astype(kind), 128), additional(codes, 128))


def test_more_inputs_than_a_short_number_can_count():
    codes = np.full((2**16 + 5, 3), -1, dtype=np.int8)
    codes[[7, 2**16 + 1, 2**16 + 3, 2**16 + 4]] = [[0, -1, -1], [0, 1, -1], [1, 1, 1], [0, -1, 0]]
    assert gainful(codes, 2).tolist() == [2**16 + 3, 2**16 + 4]
    assert additional(codes, 2)[:5].tolist() == [2**16 + 3, 2**16 + 4, 2**16 + 1, 7, 0]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_nothing_to_cover(shape):
    assert additional(np.empty(shape, np.int8), 2).tolist() == list(range(shape[0]))


def test_what_is_chosen_comes_first_and_the_rest_by_count():
    assert completed(np.array([3, 1]), np.array([5, 1, 9, 0, 5])).tolist() == [3, 1, 2, 0, 4]
    assert completed(np.array([], dtype=np.int64), np.array([0, 2, 2])).tolist() == [1, 2, 0]
