import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.core.records import Verdict
from mutiny.faults.training.base import Span
from mutiny.verbs.assess.muff.search import Search, binary_search, not_monotone, within

K, S, U = Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE


def algorithm_1(verdict_of, lb, ub, precision, archive):
    """MUFF's recursion, line by line."""
    m = (lb + ub) / 2
    verdict = verdict_of(m)
    if verdict is U:
        ub = m
    elif verdict is K:
        archive.append(m)
        ub = m
    else:
        lb = m
    if ub - lb <= precision:
        return archive
    return algorithm_1(verdict_of, lb, ub, precision, archive)


@given(st.integers(0), st.floats(0, 0.9), st.floats(0.01, 1))
def test_takes_the_path_of_algorithm_1_for_any_verdicts(seed, low, width):
    def verdict_of(strength):
        return (K, S, U)[hash((seed, strength)) % 3]

    trace = binary_search(verdict_of, (low, low + width), Search())
    assert list(trace.archive) == algorithm_1(verdict_of, low, low + width, 5e-4, [])
    assert trace.stopped == "precision"


@given(st.floats(0.001, 0.999))
def test_finds_the_boundary_within_the_precision(boundary):
    trace = binary_search(lambda s: K if s >= boundary else S, (0.0, 1.0), Search())
    if trace.archive:
        assert boundary <= trace.archive[-1] <= boundary + 5e-4
        assert list(trace.archive) == sorted(trace.archive, reverse=True)  # easy to hard
    else:
        assert boundary > 1 - 1e-3


def test_eleven_probes_as_in_the_paper():
    assert Search().probes((0.0, 1.0)) == len(binary_search(lambda s: S, (0.0, 1.0), Search()).probes) == 11


def test_unstable_searches_lower_and_is_not_archived():
    trace = binary_search(lambda s: U if s > 0.4 else K if s > 0.2 else S, (0.0, 1.0), Search(precision=0.1))
    assert trace.probes[0][1] is U
    assert all(0.2 < s <= 0.4 for s in trace.archive)


def test_budgets_end_a_search():
    assert binary_search(lambda s: S, (0.0, 1.0), Search(max_probes=3)).stopped == "probes"
    ticks = iter(range(100))
    trace = binary_search(lambda s: S, (0.0, 1.0), Search(max_seconds=2), clock=lambda: next(ticks))
    assert trace.stopped == "time"
    assert len(trace.probes) == 2


def test_bounds_narrow_the_operators_own():
    assert Search(lower=0.2, upper=0.4).bounds((0.0, 1.0)) == (0.2, 0.4)
    with pytest.raises(BadInput, match="inside"):
        Search(upper=2.0).bounds((0.0, 1.0))
    with pytest.raises(BadInput):
        Search(lower=0.5, upper=0.2)


@pytest.mark.parametrize("span", [Span(10, 1, 1, True), Span(1, 10, 1, True)])
def test_bounds_of_whole_numbers_hold_at_least_two(span):
    inside = within(span, Search(lower=2.2, upper=4.9))
    assert sorted((inside.mild, inside.severe)) == [3, 4]
    for lower, upper in [(3, 3.5), (2.5, 3), (3.2, 3.8), (3.2, 4.8)]:
        with pytest.raises(BadInput, match=f"lower, upper={lower:g}, {upper:g}: expected bounds with at least two"):
            within(span, Search(lower=lower, upper=upper))


def test_not_monotone_needs_a_survivor_above_a_kill():
    assert not_monotone({0.1: S, 0.2: K, 0.3: K, 0.4: U}) is None
    assert not_monotone({0.1: K, 0.2: S}) == (0.1, 0.2)


@pytest.mark.parametrize(
    "bad",
    [
        {"k_max": 0},
        {"rse": 0},
        {"precision": -1},
        {"max_probes": 0},
        {"max_seconds": 0},
        {"rse": "0.1"},
        {"precision": None},
        {"max_probes": 2.5},
        {"max_probes": "3"},
        {"max_seconds": "9"},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(BadInput, match=next(iter(bad))):
        Search(**bad)


def test_a_search_ends_where_floats_end():
    trace = binary_search(lambda s: K if s >= 0.3 else S, (0.0, 1.0), Search(precision=1e-300))
    assert trace.stopped == "precision"
    assert trace.archive[-1] == 0.3
