"""What follows from reactions: pure functions, compared with slow ones."""

import threading
import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.records import FaultRecord
from mutiny.testing.suite_faults import spread_faults
from mutiny.testing.suite_matrix import counts, order_of, sufficient
from mutiny.testing.suite_records import JudgedFault, Reaction, SuiteTest
from mutiny.testing.time_limit import TimeLimitReached, time_limit

EDGES = (0.5, 1.0, 2.0, 4.0, 8.0)
MATRICES = st.integers(1, 5).flatmap(
    lambda tests: st.lists(st.lists(st.booleans(), min_size=tests, max_size=tests), min_size=1, max_size=8)
)


def fault(cost=1.0, operator="GF", seed=0):
    return FaultRecord(operator, operator, None, None, 0, seed, cost, True, 0.01)


def tried(matrix):
    return [
        JudgedFault(fault(), tuple(Reaction.FAILED if noticed else Reaction.PASSED for noticed in row), {})
        for row in matrix
    ]


@given(MATRICES)
def test_a_sufficient_set_notices_the_same_faults_and_is_hardly_larger_than_the_smallest(matrix):
    table = np.array(matrix)
    chosen = sufficient(tried(matrix))
    noticed = table.any(1)
    assert (table[:, chosen].any(1) == noticed).all()
    sizes = range(len(matrix[0]) + 1)
    smallest = next(
        size for size in sizes for some in combinations(sizes[:-1], size) if (table[:, some].any(1) == noticed).all()
    )
    assert smallest <= len(chosen) <= smallest * (1 + np.log(len(matrix)))


@given(MATRICES)
def test_counts_are_those_of_the_table(matrix):
    table = np.array(matrix)
    tests = [SuiteTest(f"t{column}") for column in range(table.shape[1])]
    found = counts(tests, tried(matrix))
    assert sorted((each.name, each.noticed, each.alone) for each in found) == [
        (f"t{column}", table[:, column].sum(), (table[:, column] & (table.sum(1) == 1)).sum())
        for column in range(table.shape[1])
    ]
    assert [each.noticed for each in found] == sorted((each.noticed for each in found), reverse=True)
    order = order_of(range(len(tests)), tried(matrix))
    assert sorted(order) == [*range(len(tests))]
    assert [table[:, column].sum() for column in order] == [each.noticed for each in found]


@given(
    st.lists(st.tuples(st.floats(0.01, 20), st.sampled_from("ABC"), st.integers(0, 4)), max_size=40),
    st.integers(0, 5),
    st.integers(1, 40),
)
def test_every_beginning_is_spread_evenly_over_the_costs(given_faults, seed, count):
    faults = [fault(*each) for each in given_faults]
    chosen = [*spread_faults(faults, EDGES, seed)]
    assert chosen == [*spread_faults(faults, EDGES, seed)]
    assert sorted(map(id, chosen)) == sorted(id(each) for each in faults if 0.5 <= each.cost < 8)
    there = np.histogram([each.cost for each in chosen], EDGES)[0]
    taken = np.histogram([each.cost for each in chosen[:count]], EDGES)[0]
    open_ = taken[taken < there]
    assert not len(open_) or taken.max() <= open_.min() + 1


def test_a_limit_is_kept_in_other_threads_too():
    found = []

    def work():
        try:
            with time_limit(0.05):
                while True:
                    time.sleep(0.001)
        except TimeLimitReached as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1


def test_a_limit_that_is_not_reached_leaves_nothing_behind():
    with time_limit(60):
        pass
    with pytest.raises(TimeLimitReached), time_limit(60), time_limit(0.01):
        time.sleep(60)
